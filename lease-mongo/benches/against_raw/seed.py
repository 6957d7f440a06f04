"""Acquires and releases leases of httk-store as often as it is told, and says how long each took."""

import sys
import time

from httk.store.backend.mongo.leases import acquire_fsck, acquire_writer
from httk.store.backend.mongo.mapping import METADATA_COLLECTION
from pymongo import MongoClient

# As the package opens a store by itself.
client = MongoClient(sys.argv[1], w="majority", journal=True, readConcernLevel="majority")
database = client["seed"]
database[METADATA_COLLECTION].replace_one(
    {"_id": "layout"}, {"_id": "layout", "generation": 1}, upsert=True
)
acquire = {"writer": acquire_writer, "exclusive": acquire_fsck}
for order in sys.stdin:
    mode, count = order.split()
    start = time.perf_counter()
    for _ in range(int(count)):
        acquire[mode](database).release()
    print((time.perf_counter() - start) / int(count), flush=True)
