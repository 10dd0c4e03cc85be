# An event loop that only a module refers to.
import asyncio
l=asyncio.new_event_loop()
import json
json.l=l
