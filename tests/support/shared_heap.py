"""A heap in a memory file, so that forks share its pages without copying page tables.

To fork a process with 270 MB of anonymous memory, the kernel copies an entry for each page: 20 ms for a process that
has loaded Prefect. It copies none for pages of a file. So the heap is such a file while a process loads its modules.
Then it is mapped again, privately: each process owns the pages that it writes, and shares the others.
"""

from __future__ import annotations

import ctypes
import mmap
import os

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
_LARGEST, _KEPT = 32 << 20, 64 << 20
"""From which size on glibc maps pieces one by one, and how much of its heap it keeps: the values that glibc itself
reaches once large pieces were freed."""
_ROOM, _PIECE, _PAGE, _POOL = 512 << 20, 300_000, mmap.PAGESIZE, 16 << 10
_MAP_FIXED = 0x10

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = _libc.malloc.restype = _libc.sbrk.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.malloc.argtypes, _libc.sbrk.argtypes = [ctypes.c_size_t], [ctypes.c_long]


class _Arenas(ctypes.Structure):
    """Python's allocator of memory for small objects: `PyObjectArenaAllocator`."""

    _fields_ = (("context", ctypes.c_void_p), ("alloc", ctypes.c_void_p), ("free", ctypes.c_void_p))


class SharedHeap:
    """From its construction until `end`, this process allocates in the file.

    Raises `OSError` or `AttributeError` if the C library is not glibc, or the kernel does not permit it.
    """

    def __init__(self) -> None:
        self._usual = _Arenas()
        ctypes.pythonapi.PyObject_GetArenaAllocator(ctypes.byref(self._usual))
        _libc.mallopt(_M_MMAP_THRESHOLD, _LARGEST)
        _libc.mallopt(_M_TRIM_THRESHOLD, 2 * _ROOM)
        _libc.mallopt(_M_TOP_PAD, _ROOM)
        before = top = _libc.sbrk(0)
        while top == before:  # until the heap's free memory is used up
            last = _libc.malloc(_PIECE)
            top = _libc.sbrk(0)
        # The memory above the last piece is still untouched.
        self._begin = -(-(last + 2 * _PIECE) // _PAGE) * _PAGE
        size = top // _PAGE * _PAGE - self._begin
        self._file = os.memfd_create("heap")
        os.ftruncate(self._file, size)
        self._map(size, mmap.MAP_SHARED)
        # Python calls these with (context, size) and with (context, address).
        mine = (ctypes.cast(one, ctypes.c_void_p).value for one in (_libc.aligned_alloc, _libc.getpid))
        ctypes.pythonapi.PyObject_SetArenaAllocator(ctypes.byref(_Arenas(_POOL, *mine)))

    def end(self) -> None:
        """Make the heap private to this process, and to each process forked from it."""
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
