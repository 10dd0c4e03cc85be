"""A plugin of pytest: SandboxFusion's tests ask the service at URL where they would ask their own application."""

import os
import sys
import types

import httpx


class Client:
    """As TestClient of FastAPI."""

    def __init__(self, app):
        self.http = httpx.Client(base_url=os.environ["URL"], timeout=120)

    def post(self, path, json=None):
        return self.http.post(path, json=json)

    def get(self, path):
        return self.http.get(path)


server = types.ModuleType("sandbox.server.server")
server.app = None
sys.modules["sandbox.server.server"] = server
testclient = types.ModuleType("fastapi.testclient")
testclient.TestClient = Client
sys.modules["fastapi.testclient"] = testclient
