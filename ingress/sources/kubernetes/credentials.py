"""Reads the API server's address, its certificate authority and our credentials from a kubeconfig or service account.

Reads them again when asked. Error texts quote no credential. Does not know when to read again, nor what is requested
from the API server.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import yaml

from ingress.sources.kubernetes.client_library import (
    ConfigException,
    Configuration,
    FileOrData,
    KubeConfigLoader,
    KubeConfigMerger,
    load_incluster_config,
)
from ingress.sources.kubernetes.login_plugin import Login, LoginError, log_in, program_of

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""The folder in which every pod finds its token and the certificate of its API server."""

BEARER: Final = "BearerToken"
"""kubernetes_asyncio's name for the value of the Authorization header."""

# A login plugin may open a browser, but a plugin that hangs must not block the reflectors for ever.
_PLUGIN_SECONDS: Final = 60
# How long before its expiry a login is renewed, because clocks differ.
_EXPIRY_MARGIN: Final = timedelta(minutes=5)
# A library's error text may quote a whole file.
_PROBLEM_CHARACTERS: Final = 200


class CannotConnect(Exception):
    """The API server's address or our credentials cannot be read. The text is one line for the command line."""


class Credentials:
    """The credentials of one kubeconfig or one service account, read as often as asked."""

    __slots__ = (
        "_context",
        "_environment",
        "_kubeconfig",
        "_loader",
        "_plugin_seconds",
        "_service_account",
        "_signature",
    )

    def __init__(
        self,
        kubeconfig: Path | None,
        *,
        context: str | None = None,
        service_account: Path = SERVICE_ACCOUNT,
        environment: Mapping[str, str] = os.environ,
        plugin_seconds: float = _PLUGIN_SECONDS,
    ) -> None:
        """Without a kubeconfig, the files in `service_account` and KUBERNETES_SERVICE_HOST and _PORT are read.

        A kubeconfig may be several files, with `os.pathsep` between, as in the variable KUBECONFIG. `context` names one
        of its contexts; None: the current one. A login plugin that does not answer within `plugin_seconds` is stopped.
        """
        self._plugin_seconds = plugin_seconds
        self._kubeconfig = kubeconfig
        self._context = context
        self._service_account = service_account
        self._environment = dict(environment)
        self._loader: _KubeconfigLoader | None = None
        self._signature: _Signature | None = None

    async def load(self) -> Configuration:
        """Reads everything again and runs login plugins. Raises `CannotConnect`."""
        self._loader = None
        return await self.renew()

    async def renew(self) -> Configuration:
        """Reads every file again, and renews a login plugin's credential if it expires. Raises `CannotConnect`."""
        try:
            async with asyncio.timeout(self._plugin_seconds):
                configuration = await self._read()
        except Exception as error:  # whatever kubernetes_asyncio raises for unexpected content
            raise CannotConnect(f"cannot use {self._place}: {_problem(error)}") from None
        # Files end in a line feed; a header must not.
        if token := configuration.api_key.get(BEARER, "").strip():
            configuration.api_key[BEARER] = token
        # From Python 3.13 on, a certificate authority without optional extensions would be refused. client-go accepts
        # it and some clusters have one. Chain, name and time are still verified.
        configuration.disable_strict_ssl_verification = True
        configuration.connection_pool_maxsize = 0  # no limit, because every reflector holds a connection
        return configuration

    @property
    def _place(self) -> str:
        return f"--kubeconfig {self._kubeconfig}" if self._kubeconfig else "the pod's service account"

    async def _read(self) -> Configuration:
        configuration = Configuration()
        if self._kubeconfig is None:
            await asyncio.to_thread(self._read_service_account, configuration)
            return configuration
        signature = await asyncio.to_thread(_signature, self._kubeconfig)
        if self._loader is None or signature != self._signature:
            self._loader = None
            self._signature = signature
            loader = _KubeconfigLoader(self._kubeconfig, self._environment, context=self._context)
            await loader.load_and_set(configuration)
            self._loader = loader
        else:
            await self._loader.load_and_set(configuration)
        return configuration

    def _read_service_account(self, configuration: Configuration) -> None:
        load_incluster_config(  # type: ignore[no-untyped-call]
            client_configuration=configuration,
            try_refresh_token=False,
            token_filename=str(self._service_account / "token"),
            cert_filename=str(self._service_account / "ca.crt"),
            environ=self._environment,
        )


class _KubeconfigLoader(KubeConfigLoader):
    """The library's loader, with two differences: a login plugin leaves nothing behind, and an empty token file is an
    error and does not lead to anonymous requests.
    """

    def __init__(self, kubeconfig: Path, environment: Mapping[str, str], *, context: str | None) -> None:
        super().__init__(KubeConfigMerger(str(kubeconfig)).config, config_base_path=None, active_context=context)
        self._environment = environment
        self._logged_in_until = datetime.min.replace(tzinfo=UTC)

    async def load_from_exec_plugin(self) -> bool:
        assert self._user is not None  # the library calls this method for a user with `exec`
        if datetime.now(UTC) >= self._logged_in_until:
            self._use(await log_in(program_of(self._user["exec"].value), environment=self._environment))
        return True

    def _use(self, login: Login) -> None:
        if login.token:
            self.token = f"Bearer {login.token}"
        if login.client_certificate_data and login.client_key_data:
            self.cert_file: str | None = _file_of(login.client_certificate_data)
            self.key_file: str | None = _file_of(login.client_key_data)
        # As in client-go: a credential without an expiry is valid until a 401.
        expiry = login.expiration_timestamp
        self._logged_in_until = expiry - _EXPIRY_MARGIN if expiry else datetime.max.replace(tzinfo=UTC)

    def _load_user_token(self) -> bool:
        is_loaded = super()._load_user_token()
        is_named = self._user is not None and "tokenFile" in self._user
        if is_named and not (is_loaded and self.token.removeprefix("Bearer").strip()):
            raise ConfigException("the user's tokenFile is empty")
        return is_loaded


def _file_of(content: str) -> str | None:
    """A temporary file with this content. The library keeps the file until the process ends."""
    named = FileOrData({"data": content}, None, data_key_name="data", base64_file_content=False)
    return named.as_file()


def trust_of(configuration: Configuration) -> str:
    """A digest of everything that makes a connection: address, proxy, certificate authority, client certificate.

    Raises OSError if a file cannot be read.
    """
    digest = hashlib.sha256()
    options = (configuration.host, configuration.proxy, configuration.verify_ssl, configuration.tls_server_name)
    digest.update(repr(options).encode())
    for name in (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file):
        digest.update(hashlib.sha256(Path(name).read_bytes() if name else b"").digest())
    return digest.hexdigest()


_Signature = tuple[tuple[int, int, int], ...]


def _signature(kubeconfig: Path) -> _Signature:
    """A value that changes when a file of the kubeconfig does. Raises OSError if no file exists."""
    files = [Path(part).expanduser() for part in str(kubeconfig).split(os.pathsep) if part]
    statuses = [path.stat() for path in [path for path in files if path.exists()] or files]
    return tuple((status.st_mtime_ns, status.st_size, status.st_ino) for status in statuses)


def _problem(error: Exception) -> str:
    # The text of any other error may quote the file, and with it a token.
    if isinstance(error, OSError) and not isinstance(error, TimeoutError):
        return f"{error.strerror or 'it cannot be read'}{f': {error.filename}' if error.filename else ''}"
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        return f"it is not YAML: line {error.problem_mark.line + 1}"
    if isinstance(error, LoginError):
        return str(error)
    if isinstance(error, ConfigException):
        # The error names a place in the file, followed by its contents after a brace.
        return str(error).partition("\n")[0].partition("{")[0][:_PROBLEM_CHARACTERS]
    return "the login plugin does not answer" if isinstance(error, TimeoutError) else "it is malformed"
