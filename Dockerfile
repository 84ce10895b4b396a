# Two stages: the first has pip, hatchling and a C compiler, the second only what runs.

# With a digest (python:3.13-slim@sha256:…) the same base is used every time.
ARG BASE_IMAGE=python:3.13-slim
# Where the wheel is built: the same Python on the same Debian, with a C compiler.
ARG BUILD_IMAGE=python:3.13

FROM ${BUILD_IMAGE} AS build
# 1: the data plane is not compiled (docs/typed.md), and BUILD_IMAGE needs no compiler. The builder of the wheel reads this.
ARG ZONAL_PURE=""
WORKDIR /src
COPY requirements/build.txt requirements/typed.txt requirements/otel.txt requirements/sbom.txt requirements/
RUN ["python", "-m", "pip", "install", "--no-cache-dir", "--require-hashes", "--requirement", "requirements/build.txt"]
RUN ["python", "-m", "pip", "install", "--no-cache-dir", "--require-hashes", "--requirement", "requirements/typed.txt"]
RUN ["python", "-m", "venv", "--without-pip", "/opt/zonal"]
RUN ["python", "-m", "pip", "--python", "/opt/zonal", "install", "--no-cache-dir", "--require-hashes", \
     "--only-binary", ":all:", "--requirement", "requirements/otel.txt"]
COPY pyproject.toml README.md LICENSE ./
COPY balancer balancer
COPY ingress ingress
COPY zonal zonal
COPY zonal_hooks zonal_hooks
COPY typed typed
RUN ["python", "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", "/wheels", "."]
RUN ["python", "-m", "pip", "--python", "/opt/zonal", "install", "--no-cache-dir", "--no-deps", "--no-index", \
     "--find-links", "/wheels", "zonal-ingress"]
# What the environment holds, in CycloneDX. Packages of the base image are listed by the builder (docs/install.md).
RUN ["python", "-m", "pip", "install", "--no-cache-dir", "--require-hashes", "--requirement", "requirements/sbom.txt"]
RUN ["cyclonedx-py", "environment", "--output-reproducible", "--pyproject", "pyproject.toml", \
     "--output-file", "/opt/zonal/sbom.cdx.json", "/opt/zonal/bin/python"]

FROM ${BASE_IMAGE}
ARG BASE_IMAGE
# The commit that the image was built from.
ARG REVISION=""
LABEL org.opencontainers.image.title="zonal" \
      org.opencontainers.image.description="A zone-aware HTTP ingress controller and reverse proxy for Kubernetes" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${BASE_IMAGE}"
RUN ["python", "-m", "pip", "uninstall", "--yes", "pip"]
# The base image has no bytecode of the standard library: each worker would compile it anew, for most of its start.
RUN ["python", "-m", "compileall", "-q", "/usr/local/lib"]
COPY --from=build /opt/zonal /opt/zonal
# Nothing is written: the root file system may be read-only.
ENV PATH=/opt/zonal/bin:$PATH PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
EXPOSE 8080 8443 10254
ENTRYPOINT ["zonal"]
CMD ["run"]
