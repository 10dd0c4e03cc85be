print("not reached"
