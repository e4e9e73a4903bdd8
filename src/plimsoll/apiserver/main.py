"""The apiserver process: the data directory, the certificates, the socket, the tasks."""

import asyncio
import base64
import ctypes
import gc
import logging
import resource
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path

import yaml

from plimsoll.apiserver.access.authorizer import (
    DEFAULT_MODES,
    AccessControl,
    AuthorizationMode,
)
from plimsoll.apiserver.access.node_authorizer import NodeAuthorizer
from plimsoll.apiserver.access.tokens.account_tokens import AccountTokens
from plimsoll.apiserver.access.tokens.jwt import TokenKey
from plimsoll.apiserver.admission.chain import SERVICE_ACCOUNT, Admission, PluginChoice
from plimsoll.apiserver.admission.webhooks.calls import WebhookClient
from plimsoll.apiserver.audit.log_file import AuditFileLimits, AuditLog, RotatedFile
from plimsoll.apiserver.audit.policy import AuditPolicy
from plimsoll.apiserver.audit.trail import AuditTrail
from plimsoll.apiserver.definition_cleanup import DefinitionCleanup
from plimsoll.apiserver.first_objects import create_first_objects
from plimsoll.apiserver.http.app import AsgiApp
from plimsoll.apiserver.http.certificates import ServerCredentials, load_or_create, private_write
from plimsoll.apiserver.http.identity import Authenticator
from plimsoll.apiserver.http.renewal import keep_current
from plimsoll.apiserver.metrics import ServerMetrics
from plimsoll.apiserver.model.kinds.networking.service_network import ServiceNetwork
from plimsoll.apiserver.server import ApiServer
from plimsoll.apiserver.storage.cluster import BOOKMARK_EVERY, StoredCluster, describe
from plimsoll.apiserver.storage.definitions.custom_kinds import DEFINITIONS, CustomKinds
from plimsoll.apiserver.storage.durable_objects import DurableObjects, keep_roles
from plimsoll.apiserver.storage.encryption.sealed_store import Encryption, SealedStore
from plimsoll.apiserver.storage.event_expiry import EventExpiry
from plimsoll.apiserver.storage.heavy_work import HeavyWork
from plimsoll.apiserver.storage.measured_store import MeasuredStore
from plimsoll.apiserver.storage.revisions import HistoryLimits, Revisions
from plimsoll.apiserver.storage.sqlite_file import FILE_NAME
from plimsoll.apiserver.storage.sqlite_store import SqliteStore
from plimsoll.apiserver.storage.store import LogStore, StoreCorruptError
from plimsoll.apiserver.storage.watch_hub import WatchHub
from plimsoll.apiserver.upkeep.aggregated_roles import AggregatedRoles
from plimsoll.apiserver.upkeep.bootstrap import reconcile_bootstrap_roles
from plimsoll.apiserver.upkeep.client_authority import ClientAuthority
from plimsoll.apiserver.upkeep.default_accounts import DefaultAccounts
from plimsoll.apiserver.upkeep.keeper import Keeper, Upkeep
from plimsoll.apiserver.upkeep.root_certificates import RootCertificates
from plimsoll.apiserver.upkeep.token_secrets import TokenSecrets
from plimsoll.apiserver.upkeep.token_tracking import TokenTracking
from plimsoll.apiserver.web_server import (
    LOOPBACK,
    WebServer,
    listening,
    started,
    stopped,
    web_config,
)
from plimsoll.runtime.blocking import Blocking
from plimsoll.runtime.clock import Clock, SystemClock
from plimsoll.runtime.ids import Ids, system_ids
from plimsoll.runtime.signals import end_asked
from plimsoll.wire.webhooks.on_demand import WebhooksOnDemand

log = logging.getLogger(__name__)

LINE_GONE = "the line identity is taken out of the file of --encryption-key-file"
TURN_SECONDS = 0.002
"""How long large requests, which a thread works on, may keep the event loop waiting."""
RETURNED_BYTES = 128 * 1024
_MMAP_THRESHOLD = -3
"""The name that glibc's malloc.h has for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings:
    policy: AuditPolicy
    path: Path
    limits: AuditFileLimits = field(default_factory=AuditFileLimits)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServerSettings:
    data_dir: Path
    port: int = 0
    """0 takes any free port."""
    write_kubeconfig: Path | None = None
    history: timedelta = timedelta(minutes=5)
    """How far back watches can resume and lists can go on."""
    event_ttl: timedelta = timedelta(hours=1)
    """How long events are kept after they were last written."""
    admission_plugins: PluginChoice = field(default_factory=PluginChoice)
    service_network: ServiceNetwork = field(default_factory=ServiceNetwork)
    """What services get their addresses from."""
    authorization_modes: tuple[AuthorizationMode, ...] = DEFAULT_MODES
    audit: "AuditSettings | None" = None
    encryption: Encryption = field(default_factory=Encryption)
    """Of what the file holds."""
    clock: Clock = field(default_factory=SystemClock)
    ids: Ids = field(default_factory=system_ids)


def limits_for(history: timedelta) -> HistoryLimits:
    return HistoryLimits(age=history, every=min(timedelta(seconds=30), history / 4))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    disabled_plugins: frozenset[str] = frozenset({SERVICE_ACCOUNT})
    """Of the admission, by name. Accounts for pods are only made where sockets are served."""
    enabled_plugins: frozenset[str] = frozenset()
    """Of the admission: those that are off otherwise."""
    blocking: Blocking | None = None
    """What waits for a store that is not inline, in a server without threads; None: threads."""
    service_network: ServiceNetwork = field(default_factory=ServiceNetwork)
    """What services get their addresses from."""
    bookmark_every: timedelta = BOOKMARK_EVERY
    """Of watches in which nothing happens."""
    authorization_modes: tuple[AuthorizationMode, ...] = DEFAULT_MODES
    admin_token: str = ""
    """Empty: there is none, and the administrator is whom the transport says."""
    token_key: TokenKey | None = None
    """What signs the tokens of service accounts; None: a key that is lost with the server."""
    audit: AuditTrail | None = None
    webhooks: WebhookClient | None = None
    """What calls admission webhooks; None: there is no network."""


ORDINARY = ServerOptions()


def make_server(
    store: LogStore,
    clock: Clock,
    ids: Ids,
    limits: HistoryLimits,
    *,
    options: ServerOptions = ORDINARY,
) -> ApiServer:
    """A server with everything that the store holds."""
    measured = MeasuredStore(store, clock)
    revisions = Revisions(measured, clock, limits, options.blocking)
    hub = WatchHub()
    revisions.load(describe)
    custom = CustomKinds()
    custom.load(revisions.collection(DEFINITIONS))
    objects = DurableObjects(revisions)
    access = AccessControl(nodes=NodeAuthorizer(objects), modes=options.authorization_modes)
    # Before watchers are told: what they do next is already allowed and served, or not any more.
    keep_roles(access.roles, revisions)
    revisions.on_durable(custom.follow)
    revisions.on_durable(hub.publish)
    revisions.weigh = hub.weight
    tokens = AccountTokens(objects, clock.now, options.token_key)
    cluster = StoredCluster(
        revisions=revisions,
        hub=hub,
        clock=clock,
        ids=ids,
        custom=custom,
        work=HeavyWork(inline=store.inline or options.blocking is not None),
        authenticator=Authenticator(tokens, admin_token=options.admin_token),
        access=access,
        admission=Admission(
            plugins=PluginChoice(enabled=options.enabled_plugins, disabled=options.disabled_plugins)
        ),
        service_network=options.service_network,
        bookmark_every=options.bookmark_every,
        webhooks=options.webhooks,
    )
    return ApiServer(cluster, metrics=ServerMetrics(cluster, measured), audit=options.audit)


Tasks = frozenset["asyncio.Future[None]"]


@asynccontextmanager
async def running(server: ApiServer) -> AsyncIterator[Tasks]:
    """The server's own tasks, for as long as the block lasts; none of them ends by itself."""
    revisions = server.cluster.revisions
    cleanup = DefinitionCleanup(server.cluster)
    # Not a TaskGroup: that would wrap what the block raises.
    tasks = frozenset(
        asyncio.ensure_future(endless)
        for endless in (revisions.run_writer(), revisions.run_compactor(), cleanup.run())
    )
    try:
        await create_first_objects(server.cluster)
        yield tasks
    finally:
        server.cluster.hub.stop()
        await _drain(revisions, tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if server.cluster.webhooks is not None:
            await server.cluster.webhooks.close()
        if server.audit is not None:
            await asyncio.to_thread(server.audit.close)
        server.cluster.work.close()
        revisions.close()


async def _drain(revisions: Revisions, tasks: Tasks) -> None:
    """Every client that waits for an answer gets it, as long as there is a writer to wait for."""
    last = asyncio.ensure_future(revisions.durable())
    await asyncio.wait((last, *tasks), return_when=asyncio.FIRST_COMPLETED)
    last.cancel()
    await asyncio.gather(last, return_exceptions=True)


def kubeconfig(url: str, credentials: ServerCredentials) -> str:
    authority = base64.b64encode(credentials.authority.read_bytes()).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "plimsoll",
        "clusters": [
            {
                "name": "plimsoll",
                "cluster": {"server": url, "certificate-authority-data": authority},
            }
        ],
        "users": [{"name": "admin", "user": {"token": credentials.admin_token}}],
        "contexts": [{"name": "plimsoll", "context": {"cluster": "plimsoll", "user": "admin"}}],
    }
    text: str = yaml.safe_dump(config, sort_keys=False)
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingSockets:
    url: str
    server: ApiServer
    credentials: ServerCredentials
    tasks: Tasks

    async def broken(self) -> None:
        """Returns never while all is well; raises what ended one of the server's tasks."""
        done, _ = await asyncio.wait(self.tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()


@asynccontextmanager
async def serving(settings: ApiServerSettings) -> AsyncIterator[ServingSockets]:
    """The whole process but its signals: a server that answers on a loopback port."""
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    credentials = load_or_create(settings.data_dir / "pki", settings.clock.now())
    with listening(settings.port) as listener:
        made = _server(settings, credentials)
        # What was loaded stays for long: the collector need not look at it again and again.
        gc.collect()
        gc.freeze()
        async with running(made) as tasks:
            upkeep = await _begun_upkeep(made.cluster, credentials)
            url = f"https://{LOOPBACK}:{listener.getsockname()[1]}"
            # Before the first answer: a client that finds the server ready finds the file as well.
            _write_kubeconfig(settings, url, credentials)
            app = AsgiApp(made, settings.clock, made.cluster.authenticator)
            web = WebServer(web_config(app, credentials), settings.clock)
            task = asyncio.ensure_future(web.serve(sockets=[listener]))
            renewal = asyncio.ensure_future(_renew(settings, url, web))
            expiry = asyncio.ensure_future(EventExpiry(made.cluster, settings.event_ttl).run())
            keeping = asyncio.ensure_future(upkeep.run())
            own = tasks | {task, expiry, keeping}
            try:
                await started(web, task)
                yield ServingSockets(url=url, server=made, credentials=credentials, tasks=own)
            finally:
                made.cluster.hub.stop()
                renewal.cancel()
                expiry.cancel()
                keeping.cancel()
                await stopped(web, task)
                await asyncio.gather(task, renewal, expiry, keeping, return_exceptions=True)


def _server(settings: ApiServerSettings, credentials: ServerCredentials) -> ApiServer:
    """Raises StoreCorruptError, and EncryptionKeyError before anything is changed."""
    return make_server(
        _opened_store(settings),
        settings.clock,
        settings.ids,
        limits_for(settings.history),
        options=ServerOptions(
            disabled_plugins=settings.admission_plugins.disabled,
            enabled_plugins=settings.admission_plugins.enabled,
            service_network=settings.service_network,
            authorization_modes=settings.authorization_modes,
            admin_token=credentials.admin_token,
            token_key=credentials.token_key,
            webhooks=WebhooksOnDemand(),
            audit=_audit_trail(settings),
        ),
    )


def _opened_store(settings: ApiServerSettings) -> SealedStore:
    """Raises StoreCorruptError, and EncryptionKeyError before anything is changed."""
    path = settings.data_dir / FILE_NAME
    plain = SqliteStore(path, first=int(settings.clock.now().timestamp()))
    store = SealedStore(plain, settings.encryption, path)
    try:
        store.prepare()
    except StoreCorruptError:
        store.close()
        raise
    if settings.encryption.reads_what_it_would_seal:
        # All is sealed by now: the line is needed no longer.
        log.warning("unencrypted objects accepted", extra={"until": LINE_GONE})
    return store


async def _begun_upkeep(cluster: StoredCluster, credentials: ServerCredentials) -> Upkeep:
    """Roles, tokens and certificates are there before the first client asks for anything."""
    await reconcile_bootstrap_roles(cluster)
    authority = credentials.authority.read_bytes()
    keepers: list[Keeper] = [
        AggregatedRoles(cluster),
        TokenSecrets(cluster, authority),
        TokenTracking(cluster),
        ClientAuthority(cluster, authority),
    ]
    if cluster.admission.mounts_tokens:
        certificates = RootCertificates(cluster, authority)
        certificates.refresh(cluster.revisions.collection("namespaces").keys())
        keepers += [DefaultAccounts(cluster), certificates]
    upkeep = Upkeep(cluster, keepers)
    cluster.authenticator.tokens.uses.follow(partial(upkeep.tell, "secrets"))
    await upkeep.begin()
    return upkeep


def _audit_trail(settings: ApiServerSettings) -> AuditTrail | None:
    wanted = settings.audit
    if wanted is None:
        return None
    log = AuditLog(RotatedFile(wanted.path, wanted.limits, settings.clock.now))
    return AuditTrail(wanted.policy, log, settings.clock, settings.ids)


def _write_kubeconfig(
    settings: ApiServerSettings, url: str, credentials: ServerCredentials
) -> None:
    if settings.write_kubeconfig is not None:
        private_write(settings.write_kubeconfig, kubeconfig(url, credentials).encode())


async def _renew(settings: ApiServerSettings, url: str, web: WebServer) -> None:
    def renewed(credentials: ServerCredentials) -> None:
        web.show(credentials)
        _write_kubeconfig(settings, url, credentials)

    await keep_current(settings.data_dir / "pki", settings.clock, renewed)


def prepare_process() -> None:
    """The event loop gets its turn often, and there are files enough for all connections."""
    sys.setswitchinterval(TURN_SECONDS)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    _return_large_buffers()


def _return_large_buffers() -> None:
    """Every connection has a buffer of 256 KiB, which glibc would keep when the client leaves."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(_MMAP_THRESHOLD, RETURNED_BYTES)


async def run(settings: ApiServerSettings, on_ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT.

    A signal while the server starts is remembered: it ends after it was ready, with all written.
    """
    prepare_process()
    asked = end_asked()
    async with serving(settings) as up:
        log.info("server ready", extra={"url": up.url, "data_dir": str(settings.data_dir)})
        written = settings.write_kubeconfig
        where = f"; kubeconfig {written}" if written else ""
        on_ready(f"plimsoll apiserver ready at {up.url}{where}")
        stopping, broken = asyncio.ensure_future(asked.wait()), asyncio.ensure_future(up.broken())
        await asyncio.wait((stopping, broken), return_when=asyncio.FIRST_COMPLETED)
        if broken.done():
            broken.result()
        broken.cancel()
        stopping.cancel()
        log.info("server stopping")
