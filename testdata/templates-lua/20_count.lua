print(collectgarbage("count") < 100, collectgarbage("step"), collectgarbage("isrunning"))
