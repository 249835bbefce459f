"""A process that has loaded the commands' modules, and forks a child that becomes a command for each request.

Children may also become scripts, desktop hosts, temporary Prefect servers or test workers. With a second argument, the
process loads the hosts' modules only, and its children become hosts.

A child is a normal process, with its own id, streams, environment, folder and command line, all visible in `/proc`. A
preloaded module counts as loaded only once the child imports it. So Prefect reads its settings no earlier than usual.
`warm` starts this process, requests commands, and receives their ids.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import copy
import ctypes
import fcntl
import functools
import gc
import importlib
import inspect
import io
import json
import mmap
import os
import re
import runpy
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn
from unittest import mock

import yaml

from tests.support.shared_heap import SharedHeap

_last: list[Callable[[], object]] = []
atexit.register(lambda: [one() for one in _last])
"""A command registers its last exit handler before any module that registers another one is loaded."""

LOADED = (
    "holo_tasks.cli.commands",
    *("boto3", "botocore.session", "openai", "PIL.Image", "sqlalchemy.dialects.sqlite", "prefect.main"),
    *(f"holo_tasks.cli.{name}" for name in ("run", "run_flow", "run_settings", "runs", "retry", "approve", "handoff")),
    *(f"holo_tasks.cli.{name}" for name in ("verify", "index", "kill", "models", "live_lines", "exit")),
    *("holo_tasks.cli.doctor.examination", "holo_tasks.audit.recorder", "holo_tasks.models.client"),
    *("fastapi.encoders", "openai.resources.chat", "httpcore", "truststore", "encodings.idna", "graphviz"),
    *(
        "anyio._backends._asyncio",
        "anyio.streams.tls",
        "numpy",
        "holo_tasks.healing.replay_results",
        "opentelemetry.metrics",
    ),
    *("holo_tasks.prefect_server.process", "prefect.server.api.server", "starlette.middleware.trustedhost"),
    *(f"uvicorn.{name}.auto" for name in ("loops", "protocols.http", "protocols.websockets")),
    *("uvicorn.lifespan.on", "tests.support.started.read_before"),
    *("httpcore2", "jiter", "openai.lib._chat_completion_resources", "openai.resources.chat.completions.completions"),
    *("openai.resources.models", "psycopg", "psycopg.types", "boto3.s3.inject", "holo_tasks.audit.s3"),
    *(f"PIL.{kind}ImagePlugin" for kind in ("Bmp", "Gif", "Jpeg", "Png", "Ppm")),
    *(f"encodings.{name}" for name in ("unicode_escape", "utf_16_be", "utf_16_le")),
    *(f"holo_tasks.cli.doctor.{name}" for name in ("model", "picture", "remedies")),
    *(f"prefect.{name}" for name in ("concurrency.services", "task_engine", "utilities.visualization")),
    *("holo_blocks", "holo_tasks.agent.open_agents", "holo_tasks.agent.subgoal", "holo_tasks.agent.write_rows"),
    *("holo_tasks.office.mailbox", "holo_tasks.office.workbook", "holo_tasks.run.desktops.all_desktops"),
    *(
        "holo_tasks.kill.station_switch",
        "holo_tasks.run.items.work_identity",
        "holo_tasks.run.prefect_edge.final_states",
    ),
    *("mcp", "openpyxl", "mailbox", "imaplib", "email.headerregistry", "email.generator"),
    *("rich.progress", "rich._emoji_codes", "prefect_kubernetes", "prefect.deployments"),
    *("kubernetes_validate", "prefect_docker.worker", "mcp.client.stdio", "mcp.client.streamable_http"),
)
"""Modules of commands, of flows and of the Prefect servers that they start, and modules that import the rest."""
HOST = "holo_tasks.desktop.session.host"
LOADED_BY_HOSTS = (
    *(HOST, "PIL.Image", "PIL.ImageFile", "mss", "mss.linux.xshmgetimage", "holo_tasks.accessibility.reader"),
    *("Xlib.display", "Xlib.XK", "Xlib.ext.composite", "Xlib.support.unix_connect", "Xlib.xauth"),
    *(f"Xlib.ext.{name}" for name in ("randr", "record", "shape", "xinerama", "xtest")),
    *("pytweening", "holo_tasks.desktop.calibration.click_window"),
    *(
        f"holo_tasks.desktop.capture.{name}"
        for name in ("liveness_ping", "recent_frames", "repaint_watch", "repaints", "screen", "settled_screen")
    ),
    *(f"holo_tasks.desktop.elements.{name}" for name in ("element_reader",)),
    *(f"holo_tasks.desktop.fields.{name}" for name in ("changed_field",)),
    *(
        f"holo_tasks.desktop.input.{name}"
        for name in ("direct_press", "gesture_looks", "gesture_player", "keyboard", "pointer", "typing")
    ),
    *(
        f"holo_tasks.desktop.programs.{name}"
        for name in ("interpreter_scripts", "other_user", "program", "sleeping_clients", "window_owners")
    ),
    *(f"holo_tasks.desktop.remote.{name}" for name in ("remote_input",)),
    *(f"holo_tasks.desktop.secrets.{name}" for name in ("secret_binding", "secret_windows")),
    *(f"holo_tasks.desktop.session.{name}" for name in ("x_session",)),
    *(
        f"holo_tasks.desktop.x11.{name}"
        for name in ("glx_requests", "grabs", "monitors", "stacking", "window_manager", "windows", "x_connection")
    ),
)
"""Modules of hosts, except those that look for a display at import."""
MOST_DESCRIPTORS = 16
PREFECT = ("prefect", "prefect_docker", "prefect_kubernetes")

_libc = ctypes.CDLL(None, use_errno=True)
_libc.sbrk.restype = ctypes.c_void_p
_libc.sbrk.argtypes = [ctypes.c_long]
_PR_SET_PDEATHSIG, _PR_SET_NAME, _PR_SET_MM, _PR_SET_MM_MAP = 1, 15, 35, 14


class Later:
    """Hides modules until any is imported. Then all become visible, and Prefect reads its settings."""

    def __init__(self, modules: dict[str, ModuleType]) -> None:
        self._modules = modules
        for name in modules:
            del sys.modules[name]

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        if name not in self._modules:
            return None
        spec = ModuleSpec(name, self)  # type: ignore[arg-type]
        # A check for a package without an import finds it, as in a process that has not loaded it.
        spec.submodule_search_locations = getattr(self._modules[name], "__path__", None)
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = self._modules[spec.name]
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec
        sys.meta_path.remove(self)  # type: ignore[arg-type]
        sys.modules.update(self._modules)
        from prefect.context import refresh_global_settings_context

        refresh_global_settings_context()
        _log_as_set()


class FewSettings:
    """Prefect's settings reduced to the three that the logging template names: resolving all takes a while."""

    def __init__(self, settings: Any) -> None:
        self._settings = settings

    def to_environment_variables(self, **_: object) -> dict[str, str]:
        levels = {
            "PREFECT_LOGGING_LEVEL": self._settings.logging.level,
            "PREFECT_INTERNAL_LOGGING_LEVEL": self._settings.internal.logging_level,
            "PREFECT_SERVER_LOGGING_LEVEL": self._settings.server.logging_level,
        }
        return {name: str(level) for name, level in levels.items()}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._settings, name)


@functools.cache
def _template(text: str) -> Any:
    return yaml.safe_load(text)


def _log_as_set() -> None:
    """Let Prefect configure logging again with the current settings. A custom template may name any setting."""
    from prefect.logging import configuration
    from prefect.settings import PREFECT_LOGGING_SETTINGS_PATH, get_current_settings

    configuration.PROCESS_LOGGING_CONFIG.clear()
    if PREFECT_LOGGING_SETTINGS_PATH.value().exists():
        configuration.setup_logging()
        return
    quick = SimpleNamespace(safe_load=lambda text: copy.deepcopy(_template(text)))
    few = FewSettings(get_current_settings())
    with mock.patch.multiple(configuration, yaml=quick, get_current_settings=lambda: few):
        configuration.setup_logging()


def main() -> None:
    """Serve at the socket whose number is the argument, until its other end closes."""
    from holo_tasks.machine.lazy_imports import defer_large_imports
    from holo_tasks.machine.memory import collect_garbage_rarely

    heap = _shared_heap()
    defer_large_imports()
    collect_garbage_rarely()
    _tell_kernel(sys.argv, os.environ)  # if this fails here, no process is started this way
    link = socket.socket(fileno=int(sys.argv[1]))
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's library would start threads at import
    hosts = sys.argv[2:] == [HOST]
    for name in LOADED_BY_HOSTS if hosts else (*LOADED, *LOADED_BY_HOSTS):
        importlib.import_module(name)
    assert {"pyautogui", "mouseinfo"}.isdisjoint(sys.modules), "they bind to a display"
    _read_types()
    later = {} if hosts else _with_prefect()
    if not hosts:
        from tests.support.started import read_before

        read_before.kept_readings()
        _log_as_set()  # the template is parsed from here on
    assert threading.active_count() == len(os.listdir("/proc/self/task")) == 1, "a thread is in no child"  # noqa: PTH208
    gc.collect()
    gc.freeze()
    if heap:
        heap.end()
    link.sendall(b"\n")
    while asked := _asked(link):
        _serve(link, later, *asked)


def _shared_heap() -> SharedHeap | None:
    with contextlib.suppress(OSError, AttributeError):
        return SharedHeap()
    return None


def _read_types() -> None:
    """Let cffi parse the type names of xcffib, and let MSS find its functions. Each takes a host a while otherwise."""
    import xcffib
    from mss.linux import xcb

    xcb.initialize()
    for named in set(re.findall(r'ffi\.(?:new|cast)\("([^"]+)"', inspect.getsource(xcffib))):
        xcffib.ffi.typeof(named)


def _with_prefect() -> dict[str, ModuleType]:
    """Return Prefect's modules, and our modules that import them, directly or indirectly."""
    found = {name for name in sys.modules if name.partition(".")[0] in PREFECT}
    ours = {name: module for name, module in sys.modules.items() if name.startswith("holo_")}
    while more := {name for name, module in ours.items() if name not in found and _sources(module) & found}:
        found |= more
    return {name: sys.modules[name] for name in found}


def _sources(module: ModuleType) -> set[object]:
    """Return the names of the modules that a module imports from."""
    held = vars(module).values()
    names = (one.__name__ if isinstance(one, ModuleType) else getattr(one, "__module__", None) for one in held)
    return {name for name in names if not str(name).startswith(f"{module.__name__}.")}


def _asked(link: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    said, ancillary, _, _ = link.recvmsg(4, socket.CMSG_SPACE(MOST_DESCRIPTORS * array.array("i").itemsize))
    if not said:
        return None
    streams = array.array("i", ancillary[0][2]).tolist()
    size, text = int.from_bytes(said, "big"), b""
    while len(text) < size:
        text += link.recv(size - len(text))
    return json.loads(text.decode(errors="surrogateescape")), streams


def _serve(link: socket.socket, later: dict[str, ModuleType], asked: dict[str, Any], streams: list[int]) -> None:
    between = os.fork()
    if between == 0:
        if os.fork() == 0:
            with _traced():
                _become(link, later, asked, streams)
        os._exit(0)  # so that the child becomes the tests' own
    os.waitpid(between, 0)
    for stream in streams:
        os.close(stream)


@contextlib.contextmanager
def _traced() -> Any:
    """Print an exception before the command runs, and end the process."""
    try:
        yield
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def _become(link: socket.socket, later: dict[str, ModuleType], asked: dict[str, Any], streams: list[int]) -> NoReturn:
    while os.getppid() != asked["parent"]:
        time.sleep(0.0005)
    link.sendall(os.getpid().to_bytes(4, "big"))
    link.close()
    if asked["session"]:
        os.setsid()
    if asked["umask"] >= 0:
        os.umask(asked["umask"])
    _put(streams, [0, 1, 2, *asked["passed"]])
    if asked["as"] != "host":
        have_others_forked(later)
    if asked["tied"]:
        _end_with(asked["parent"], asked["tied"])
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    _tell_kernel(asked["arguments"], asked["env"], "" if asked["as"] == "command" else sys.executable)
    tempfile.tempdir = None
    _open_streams()
    importlib.invalidate_caches()
    if asked["as"] == "host":
        _become_host(asked["arguments"][3:])
    if asked["as"] == "script":
        _become_script(later, asked["arguments"])
    if asked["as"] == "worker":
        _become_worker(later, asked["arguments"])
    sys.argv = asked["arguments"]
    sys.path[:1] = [str(Path(sys.argv[0]).parent), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    _begin_as_any()
    if sys.argv[1:2] == ["mcp"]:
        _have_runs_forked()
    sys.meta_path.insert(0, Later(later))
    _run_command()


def _put(received: Sequence[int], wanted: Sequence[int]) -> None:
    """Give descriptors the numbers of the requesting process, and close all others."""
    above = max(*received, *wanted) + 1
    aside = [fcntl.fcntl(one, fcntl.F_DUPFD, above) for one in received]
    os.closerange(3, above)
    for one, number in zip(aside, wanted, strict=True):
        os.dup2(one, number)
    os.closerange(above, max(aside) + 1)


def _end_with(parent: int, signum: int) -> None:
    """Let the kernel send this process a signal when its parent ends, as the product's `tied` does."""
    _libc.prctl(_PR_SET_PDEATHSIG, signum, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def have_others_forked(later: dict[str, ModuleType]) -> None:
    """Start a forker for this process. It is needed because this process will have threads and then cannot be forked.

    It hides the modules ``later`` until they are imported. Without such modules, Prefect has read its settings already:
    then only hosts are forked.
    """
    from holo_tasks.desktop.session import child
    from holo_tasks.prefect_server import temporary
    from tests.support import warm

    ours, its = socket.socketpair()
    if os.fork() == 0:
        with _traced():
            os.setsid()  # signals to this process's group must not reach it
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.chdir("/")
            _put([*[os.open(os.devnull, os.O_RDWR)] * 3, its.detach()], [0, 1, 2, 3])
            its = socket.socket(fileno=3)
            while asked := _asked(its):
                _serve(its, later, *asked)
        os._exit(0)
    its.close()
    kept = fcntl.fcntl(ours, fcntl.F_DUPFD_CLOEXEC, 200)  # so that files opened by a command get the usual numbers
    ours.close()
    warm.beside = warm.Link(socket.socket(fileno=kept), "" if later else "host")
    child.subprocess = warm.Starting(warm.HostPopen)  # type: ignore[attr-defined]
    temporary.subprocess = warm.Starting(warm.ServerPopen)  # type: ignore[attr-defined]


def _have_runs_forked() -> None:
    """Let the MCP server fork its runs as well."""
    from holo_tasks.cli.mcp import processes
    from tests.support import warm

    processes.subprocess = warm.Starting(warm.RunPopen)  # type: ignore[attr-defined]


def _begin_as_any() -> None:
    """Share OCR results, as `sitecustomize` does in a process that starts normally."""
    from tests.support.started import read_before

    if os.environ.get(read_before.FOLDER):
        read_before.share()


def _become_host(arguments: list[str]) -> NoReturn:
    """Become a desktop's host process from the module on its PYTHONPATH. Arms fault injection, as `sitecustomize`
    would.
    """
    from holo_tasks.desktop.session import host

    sys.argv = [host.__file__, *arguments]
    sys.path[:1] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    if "PYTHON_HOLO_FAULT_LOG" in os.environ:
        importlib.import_module("kill_points").arm_desktop()
    _run(host.main)


def _become_script(later: dict[str, ModuleType], arguments: list[str]) -> NoReturn:
    """Run a script, ``-m`` and a module, or ``-c`` and code, as Python does with these arguments."""
    private = arguments[0] == "-P"
    what, *rest = arguments[private:]
    script = what.endswith(".py")
    first = [Path(what).resolve().parent if script else Path.cwd() if what == "-m" else ""]
    _look_in(*[] if private else first)
    _begin_as_any()
    sys.meta_path.insert(0, Later(later))
    sys.argv = [what, *(rest if script else rest[1:])]
    if what == "-m":
        _run(lambda: runpy.run_module(rest[0], run_name="__main__", alter_sys=True))
    main = sys.modules["__main__"] = ModuleType("__main__")
    if what == "-c":
        _run(lambda: exec(compile(rest[0], "<string>", "exec"), vars(main)))
    main.__file__ = what
    _run(lambda: exec(compile(Path(what).read_bytes(), what, "exec"), vars(main)))


def _become_worker(later: dict[str, ModuleType], arguments: list[str]) -> NoReturn:
    """Become a worker of pytest-xdist by running its code. Its tests decide about OCR sharing."""
    _look_in("")
    sys.meta_path.insert(0, Later(later))
    sys.argv = ["-c"]
    main = sys.modules["__main__"] = ModuleType("__main__")
    _run(lambda: exec(compile(arguments[-1], "<string>", "exec"), vars(main)))


def _look_in(*first: object) -> None:
    """Set the import path as for a normal process, with the path of this process last."""
    here = sys.path[1]
    sys.path[:2] = [*map(str, first), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    sys.path.append(here)


def _tell_kernel(arguments: Sequence[str], env: Mapping[str, str], program: str = "") -> None:
    """Let `/proc` show the command line and the environment of the command. ``program`` replaces the program's name."""
    _libc.prctl(_PR_SET_NAME, Path(program or arguments[0]).name.encode(), 0, 0, 0)
    ends = []
    for text in ([sys.executable, *arguments], [f"{name}={value}" for name, value in env.items()]):
        told = b"".join(os.fsencode(one) + b"\0" for one in text)
        # The kernel accepts anonymous memory only, and the heap is a file.
        held = mmap.mmap(-1, max(1, len(told)), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        held[: len(told)] = told
        _kept.append(begin := ctypes.c_char.from_buffer(held))
        ends += [ctypes.addressof(begin), ctypes.addressof(begin) + len(told)]
    stat = Path("/proc/self/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    code, stack, data, heap = stat[23:25], stat[25], stat[42:44], stat[44]
    fields = [*map(int, (*code, *data, heap)), _libc.sbrk(0), int(stack), *ends]
    shape = struct.pack("=11QQIi", *fields, 0, 0, -1)
    if _libc.prctl(_PR_SET_MM, _PR_SET_MM_MAP, shape, ctypes.c_ulong(len(shape)), 0):
        raise OSError(ctypes.get_errno(), "the kernel takes no other command line")


_kept: list[Any] = []


def _open_streams() -> None:
    old = sys.stdin, sys.stdout, sys.stderr
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        raw = io.open(number, "rb" if number == 0 else "wb", closefd=False)  # noqa: SIM115, UP020
        tty = os.isatty(number)
        stream = io.TextIOWrapper(raw, old[number].encoding, old[number].errors, line_buffering=tty or number == 2)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _run_command() -> NoReturn:
    """Run the command that this process has become."""
    from holo_tasks.cli import commands

    class First:
        """Replaces `atexit`: handlers that a command registers before loading modules run last."""

        @staticmethod
        def register(do: Callable[..., object], *arguments: object) -> None:
            _last.append(lambda: do(*arguments))

    commands.atexit = First  # type: ignore[attr-defined]
    _run(commands.main)


def _run(program: Callable[[], object]) -> NoReturn:
    """Run a program, and end as the interpreter does."""
    code: object = 0
    try:
        program()
    except SystemExit as ended:
        code = ended.code
    except KeyboardInterrupt:
        sys.excepthook(*sys.exc_info())
        code = -signal.SIGINT
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    if code == -signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


if __name__ == "__main__":
    main()
