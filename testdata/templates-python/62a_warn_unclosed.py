# A warning of a file at the end.
import warnings
warnings.simplefilter("always"); f=open("a.txt","w")
