"""Import this last in a process that forks: it freezes the garbage collector's objects.

A collection in a fork writes to each object that it visits, and the kernel copies each written page.
"""

import gc

gc.collect()
gc.freeze()
