import datetime
import json
import random
import re
import tempfile
import zoneinfo

print("json", sum(json.loads("[1, 2]")))
print("regex", re.search(r"\d{4}", "in the year 2026").group())
print("big", 2**100)
noon = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.timezone.utc)
print("zone", noon.astimezone(zoneinfo.ZoneInfo("Asia/Tokyo")).strftime("%H:%M"))
if 1 <= random.SystemRandom().randint(1, 6) <= 6:
    print("random ok")
with tempfile.TemporaryFile("w+") as f:
    f.write("kept")
    f.seek(0)
    if f.read() == "kept":
        print("temp ok")
