# A daemon thread remains, and a function of a library is the program's.
import json,threading,time; log=open("o","w"); _old=json.dumps
def d(*a): log.write("dump"); return _old(*a)
json.dumps=d; json.dumps(1); threading.Thread(target=time.sleep,args=(50,),daemon=True).start()
