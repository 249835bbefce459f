"""A heap whose pages forks have without copying what leads to them: it takes them from a file in memory.

To fork a process with 270 MB of anonymous memory, the kernel copies an entry for each page of it, 20 ms for a process
that has loaded Prefect. For pages of a file it copies none. So while a process loads, its heap is such a file; after
that it is mapped anew, privately: what anybody writes from then on is theirs alone, and what nobody writes is shared.
"""

from __future__ import annotations

import ctypes
import mmap
import os

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
_LARGEST, _KEPT = 32 << 20, 64 << 20
"""From which size on glibc maps pieces one by one, and how much of its heap it keeps: what it comes to by itself, once
large pieces were freed."""
_ROOM, _PIECE, _PAGE, _POOL = 512 << 20, 300_000, mmap.PAGESIZE, 16 << 10
_MAP_FIXED = 0x10

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = _libc.malloc.restype = _libc.sbrk.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.malloc.argtypes, _libc.sbrk.argtypes = [ctypes.c_size_t], [ctypes.c_long]


class _Arenas(ctypes.Structure):
    """Where Python gets memory for small objects: `PyObjectArenaAllocator`."""

    _fields_ = (("context", ctypes.c_void_p), ("alloc", ctypes.c_void_p), ("free", ctypes.c_void_p))


class SharedHeap:
    """From when it is made until `end`, what this process allocates is in the file.

    Raises `OSError` or `AttributeError` where the C library is not glibc, or the kernel does not permit it.
    """

    def __init__(self) -> None:
        self._usual = _Arenas()
        ctypes.pythonapi.PyObject_GetArenaAllocator(ctypes.byref(self._usual))
        _libc.mallopt(_M_MMAP_THRESHOLD, _LARGEST)
        _libc.mallopt(_M_TRIM_THRESHOLD, 2 * _ROOM)
        _libc.mallopt(_M_TOP_PAD, _ROOM)
        before = top = _libc.sbrk(0)
        while top == before:  # there is some left of what it had
            last = _libc.malloc(_PIECE)
            top = _libc.sbrk(0)
        # Of what is above the last piece and its end nothing was touched yet.
        self._begin = -(-(last + 2 * _PIECE) // _PAGE) * _PAGE
        size = top // _PAGE * _PAGE - self._begin
        self._file = os.memfd_create("heap")
        os.ftruncate(self._file, size)
        self._map(size, mmap.MAP_SHARED)
        # Python calls these with the context and a size, and with the context and a place.
        mine = (ctypes.cast(one, ctypes.c_void_p).value for one in (_libc.aligned_alloc, _libc.getpid))
        ctypes.pythonapi.PyObject_SetArenaAllocator(ctypes.byref(_Arenas(_POOL, *mine)))

    def end(self) -> None:
        """Have it for this process alone, and for each that is forked from it."""
        ctypes.pythonapi.PyObject_SetArenaAllocator(ctypes.byref(self._usual))
        _libc.mallopt(_M_TOP_PAD, 128 << 10)
        _libc.malloc_trim(0)
        _libc.mallopt(_M_TRIM_THRESHOLD, _KEPT)
        self._map(-(-_libc.sbrk(0) // _PAGE) * _PAGE - self._begin, mmap.MAP_PRIVATE)
        os.close(self._file)

    def _map(self, size: int, how: int) -> None:
        there = _libc.mmap(self._begin, size, mmap.PROT_READ | mmap.PROT_WRITE, _MAP_FIXED | how, self._file, 0)
        if there != self._begin:
            raise OSError(ctypes.get_errno(), "the heap cannot be mapped")
