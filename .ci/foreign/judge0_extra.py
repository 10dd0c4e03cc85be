"""A plugin of pytest: points judge0-python at the service, and stands for Judge0's second flavour, which brig does not
emulate: the SDK wants its tables before it does anything."""

import json
import os
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from judge0 import clients

endpoint = os.environ["JUDGE0_CE_ENDPOINT"]
settings = urllib.request.urlopen(endpoint + "/config_info").read()
TABLES = {
    "/about": json.dumps({"version": "1.13.1-extra"}).encode(),
    "/languages": json.dumps([{"id": 2, "name": "C++"}, {"id": 10, "name": "Python for ML"}]).encode(),
    "/config_info": settings,
}


class Extra(BaseHTTPRequestHandler):
    def do_GET(self):
        body = TABLES[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Extra)
threading.Thread(target=server.serve_forever, daemon=True).start()
clients.Judge0CloudCE.DEFAULT_ENDPOINT = endpoint
clients.Judge0CloudExtraCE.DEFAULT_ENDPOINT = f"http://127.0.0.1:{server.server_port}"
