print(os.getenv("HOME"), os.getenv("NAME"), os.getenv("PATH"), os.getenv("NONE"), os.getenv("LD_PRELOAD"), os.getenv("BRIG_TEMPLATE"))
os.execute("env | sort")
