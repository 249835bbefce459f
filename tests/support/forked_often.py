"""What a server of forks loads last: nothing that was there before is looked at again by those that are forked.

A collector that comes by in a fork writes to each object it looks at, and each page that is written to is copied.
"""

import gc

gc.collect()
gc.freeze()
