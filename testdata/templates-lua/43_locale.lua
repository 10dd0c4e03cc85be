print(os.setlocale(), os.setlocale("C.UTF-8"), os.setlocale(nil, "numeric"), os.setlocale("xx_YY"))
print(1.5, ("%.1f"):format(1.5))
