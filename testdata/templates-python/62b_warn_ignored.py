# A filter of the program that ignores warnings is there to the end.
import warnings
warnings.simplefilter("ignore")
async def m(): pass
x=m()
