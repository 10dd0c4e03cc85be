print(os.time() - os.time(os.date("*t")) <= 1, os.clock() < 1, os.date("!%Y", 0), os.difftime(5, 3))
print(os.time({ year = 2000, month = 1, day = 1, hour = 0 }))
