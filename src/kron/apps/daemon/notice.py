"""Notice of changes in a folder or of one file, by inotify. It only says that something changed; a scan finds out what.

Where inotify is missing or its limits are reached, there is no notice, and the regular scan finds the changes later.
"""

from __future__ import annotations

import ctypes
import os
import struct
from contextlib import suppress
from functools import lru_cache

MODIFIED, CLOSE_WRITE, ATTRIBUTES, MOVED_FROM, MOVED_TO, DELETED = 0x002, 0x008, 0x004, 0x040, 0x080, 0x200
DELETED_SELF, MOVED_SELF, OVERFLOW, ONLY_FOLDERS = 0x400, 0x800, 0x4000, 0x0100_0000
WATCHED = CLOSE_WRITE | ATTRIBUTES | MOVED_FROM | MOVED_TO | DELETED | DELETED_SELF | MOVED_SELF | ONLY_FOLDERS
READ_BYTES, MAX_READS = 65_536, 64  # of one call of `drain`; the rest makes the descriptor readable again
_HEAD = struct.Struct("iIII")  # watch, mask, cookie, length of the name


class Notice:
    """inotify descriptor that watches one path. Watch the path first, and read it afterwards.

    Attributes:
        descriptor: Readable when something has changed; None without inotify.
    """

    def __init__(self, path: str, mask: int = WATCHED) -> None:
        """Watch a path. `mask` has the kinds of changes: those of a folder of tables, or others."""
        self.path, self.mask, self.descriptor, self.watch_id = os.fsencode(path), mask, _open(), -1
        self.watch()

    @property
    def is_blind(self) -> bool:
        """Whether the system has inotify, and the path cannot be watched, because it does not exist."""
        return self.descriptor is not None and self.watch_id == -1

    def watch(self) -> None:
        """Watch the folder or file that has the path now. This has no effect if it is the same as before."""
        if self.descriptor is None:
            return
        watch_id = _library().inotify_add_watch(self.descriptor, self.path, self.mask)
        if watch_id not in (self.watch_id, -1) and self.watch_id != -1:
            _library().inotify_rm_watch(self.descriptor, self.watch_id)  # of what was moved away
        self.watch_id = watch_id

    def drain(self) -> bool:
        """Read the waiting events. Returns whether there was one, or whether events were lost."""
        has_changed = False
        if self.descriptor is None:
            return has_changed
        for _ in range(MAX_READS):
            try:
                content = os.read(self.descriptor, READ_BYTES)
            except BlockingIOError:
                break
            has_changed |= any(mask & (self.mask | OVERFLOW) for mask in _masks(content))
        return has_changed

    def close(self) -> None:
        """Stop watching."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None


def _masks(content: bytes) -> list[int]:
    masks, position = list[int](), 0
    while position + _HEAD.size <= len(content):
        _, mask, _, name_length = _HEAD.unpack_from(content, position)
        masks.append(mask)
        position += _HEAD.size + name_length
    return masks


def _open() -> int | None:
    """Return a new inotify descriptor; None if the system has none."""
    with suppress(OSError, AttributeError):
        descriptor: int = _library().inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        return None if descriptor < 0 else descriptor
    return None


@lru_cache(1)
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.inotify_init1.argtypes = (ctypes.c_int,)
    library.inotify_add_watch.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)
    library.inotify_rm_watch.argtypes = (ctypes.c_int, ctypes.c_int)
    return library
