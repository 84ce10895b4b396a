# Two stages: the first has pip and hatchling, the second only what runs.

FROM python:3.13-slim AS build
WORKDIR /src
COPY requirements/build.txt requirements/run.txt requirements/
RUN ["python", "-m", "pip", "install", "--no-cache-dir", "--require-hashes", "--requirement", "requirements/build.txt"]
RUN ["python", "-m", "venv", "--without-pip", "/opt/zonal"]
RUN ["python", "-m", "pip", "--python", "/opt/zonal", "install", "--no-cache-dir", "--require-hashes", \
     "--only-binary", ":all:", "--requirement", "requirements/run.txt"]
COPY pyproject.toml README.md LICENSE ./
COPY balancer balancer
COPY ingress ingress
RUN ["python", "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", "/wheels", "."]
RUN ["python", "-m", "pip", "--python", "/opt/zonal", "install", "--no-cache-dir", "--no-deps", "--no-index", \
     "--find-links", "/wheels", "zonal-ingress"]

FROM python:3.13-slim
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
