"""The harness: everything that puts one thing in another's place.

In 0.1 it runs observed rows (``refengine observe``). Doors to other engines, adapters,
recorded exchanges and the migration check come with later versions.
"""
