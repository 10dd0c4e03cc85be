Sys.sleep(60)
