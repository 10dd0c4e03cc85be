# The compiler's warnings and the program's own, where modules of the template have imported warnings.
import random
import re
import sys

print("\d")
eval("1 is 1")
import warnings
warnings.warn("own")
warnings.warn("again", DeprecationWarning)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    warnings.warn("kept")
print(len(seen), warnings.filters[:2], sys.warnoptions)
