"""Records how Python's clients, SDKs, drivers and system calls word their failures.

Each failure is kept as a server would show it: `str(error)`, or the last line of its traceback,
in turn.
"""

import asyncio
import errno
import importlib.metadata
import json
import os
import signal
import socket
import sqlite3
import ssl
import subprocess
import tempfile
import traceback
import urllib.request
from pathlib import Path

import failing
from rows import Rows

rows = Rows("python")
doors = failing.start()
HTTP = f"http://{doors['http']}"
BROKEN = {"closed": "passing", "reset": "passing", "empty": "passing", "hang": "passing"}
turn = 0


def name_of(package):
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return package


def keep(label, package, error, **more):
    global turn
    turn += 1
    last = traceback.format_exception_only(error)[-1].strip()
    if len(traceback.format_exception_only(error)) > 1:
        last = "".join(traceback.format_exception_only(error)).strip()
    said = str(error) if turn % 2 and str(error).strip() else last
    rows.add(label, f"Python, {name_of(package)}", said, **more)


class TooSlow(BaseException):
    """A client that retries for longer than a recorder waits."""


def give_up(*_):
    raise TooSlow


signal.signal(signal.SIGALRM, give_up)


def expect(label, package, call, **more):
    signal.alarm(8)
    try:
        result = call()
        if asyncio.iscoroutine(result):
            asyncio.run(result)
    except Exception as error:  # noqa: BLE001 every kind is wanted
        keep(label, package, error, **more)
    except TooSlow:
        print(f"too slow: {package} {label}")
    else:
        print(f"no failure: {package} {label}")
    finally:
        signal.alarm(0)


def scenarios(prefix):
    for name, (_, label, _) in failing.ANSWERS.items():
        if name.startswith(prefix + "-"):
            yield name, label


STATUSES = {400: "bad-argument", 401: "who-are-you", 403: "not-allowed", 404: "absent", 408: "passing", 410: "absent",
            413: "bad-argument", 422: "bad-argument", 423: "passing", 429: "passing", 500: "own-fault",
            501: "own-fault", 502: "passing", 503: "passing", 504: "passing"}


def http_clients():
    import aiohttp
    import httplib2
    import httpx
    import requests
    import urllib3

    def over_requests(url):
        requests.get(url, timeout=0.5).raise_for_status()

    def over_httpx(url):
        httpx.get(url, timeout=0.5).raise_for_status()

    async def over_aiohttp(url):
        limit = aiohttp.ClientTimeout(total=0.5)
        async with aiohttp.ClientSession(timeout=limit) as session, session.get(url) as answer:
            answer.raise_for_status()

    def over_urllib(url):
        urllib.request.urlopen(url, timeout=0.5)

    def over_urllib3(url):
        urllib3.PoolManager(retries=0, timeout=0.5).request("GET", url)

    def over_httplib2(url):
        httplib2.Http(timeout=0.5).request(url)

    for package, get in [("requests", over_requests), ("httpx", over_httpx), ("aiohttp", over_aiohttp),
                         ("urllib", over_urllib)]:
        for status, label in STATUSES.items():
            expect(label, package, lambda: get(f"{HTTP}/n/{status}/notes"))
    for package, get in [("requests", over_requests), ("httpx", over_httpx), ("aiohttp", over_aiohttp),
                         ("urllib", over_urllib), ("urllib3", over_urllib3), ("httplib2", over_httplib2)]:
        for door, label in BROKEN.items():
            expect(label, package, lambda: get(f"http://{doors[door]}/notes"))
        expect("own-fault", package, lambda: get(f"https://{doors['tls']}/notes"))
        expect("own-fault", package, lambda: get(f"https://{doors['html']}/notes"))
        expect("own-fault", package, lambda: get(f"http://{doors['html']}/notes"))
        expect("passing", package, lambda: get("http://notes.invalid/"))
    for package, get in [("requests", over_requests), ("aiohttp", over_aiohttp), ("urllib", over_urllib)]:
        expect("own-fault", package, lambda: get(f"{HTTP}/loop/"))
    expect("own-fault", "requests", lambda: requests.get(f"{HTTP}/s/html").json())
    expect("own-fault", "requests", lambda: requests.get(f"{HTTP}/s/broken-json").json())
    expect("own-fault", "httpx", lambda: httpx.get(f"{HTTP}/s/html").json())


def amazon():
    import boto3
    from botocore.config import Config
    from botocore.exceptions import NoCredentialsError

    config = Config(retries={"max_attempts": 1, "mode": "standard"}, connect_timeout=0.5, read_timeout=0.5,
                    s3={"addressing_style": "path"})
    given = {"aws_access_key_id": "AKIAX", "aws_secret_access_key": "x", "region_name": "eu-west-1", "config": config}
    for name, label in scenarios("s3"):
        s3 = boto3.client("s3", endpoint_url=f"{HTTP}/s/{name}", **given)
        expect(label, "boto3", lambda: s3.get_object(Bucket="notes", Key="plan.md"))
    for name, label in scenarios("ddb"):
        ddb = boto3.client("dynamodb", endpoint_url=f"{HTTP}/s/{name}", **given)
        expect(label, "boto3", lambda: ddb.get_item(TableName="notes", Key={"id": {"S": "17"}}))
    for door in ["closed", "hang", "empty"]:
        s3 = boto3.client("s3", endpoint_url=f"http://{doors[door]}", **given)
        expect("passing", "boto3", lambda: s3.get_object(Bucket="notes", Key="plan.md"))
    bare = boto3.client("s3", endpoint_url=HTTP, region_name="eu-west-1")
    expect("who-are-you", "boto3", lambda: bare.get_object(Bucket="notes", Key="plan.md"))
    expect("own-fault", "boto3", lambda: boto3.client("dynamodb"))
    expect("bad-argument", "boto3", lambda: bare.get_object(Bucket="notes", Key=17))
    assert NoCredentialsError


def google_cloud():
    from google.api_core import exceptions
    from google.auth import exceptions as auth
    from google.cloud import storage
    from google.auth.credentials import AnonymousCredentials

    for name, label in scenarios("gcs"):
        client = storage.Client(project="p", credentials=AnonymousCredentials(),
                                client_options={"api_endpoint": f"{HTTP}/s/{name}"})
        blob = client.bucket("notes").blob("plan.md")
        expect(label, "google-cloud-storage", lambda: blob.reload(timeout=0.5, retry=None))
    expect("who-are-you", "google-auth", lambda: __import__("google.auth").auth.default())
    for error, label in [(exceptions.DeadlineExceeded("Deadline Exceeded"), "passing"),
                         (exceptions.ResourceExhausted("Quota exceeded."), "passing"),
                         (exceptions.NotFound("Document not found: notes/17"), "absent"),
                         (exceptions.PermissionDenied("Missing or insufficient permissions."), "not-allowed"),
                         (exceptions.Unauthenticated("Request had invalid authentication credentials."), "who-are-you"),
                         (exceptions.InvalidArgument("Page size must be positive."), "bad-argument"),
                         (exceptions.Aborted("Too much contention on these documents."), "passing"),
                         (auth.RefreshError("invalid_grant: Token has been expired or revoked."), "who-are-you")]:
        keep(label, "google-api-core", error)


def rpc():
    import grpc

    for port, label in [(doors["closed"], "passing")]:
        with grpc.insecure_channel(port) as channel:
            call = channel.unary_unary("/notes.Notes/Get")
            expect(label, "grpcio", lambda: call(b"", timeout=0.7))
    wants = {"NOT_FOUND": ("absent", "note 17"), "PERMISSION_DENIED": ("not-allowed", "reader only"),
             "UNAUTHENTICATED": ("who-are-you", "no bearer"), "INVALID_ARGUMENT": ("bad-argument", "page"),
             "RESOURCE_EXHAUSTED": ("passing", "slow"), "UNAVAILABLE": ("passing", "draining"),
             "INTERNAL": ("own-fault", "nil pointer"), "DEADLINE_EXCEEDED": ("passing", "50 ms"),
             "UNIMPLEMENTED": ("own-fault", "Get"), "ABORTED": ("passing", "conflict")}
    from concurrent import futures

    class Refuse(grpc.GenericRpcHandler):
        def service(self, details):
            code = details.method.rsplit("/", 1)[1]
            def handle(_, context):
                context.abort(getattr(grpc.StatusCode, code), wants[code][1])
            return grpc.unary_unary_rpc_method_handler(handle)

    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((Refuse(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        for code, (label, _) in wants.items():
            expect(label, "grpcio", lambda: channel.unary_unary(f"/notes.Notes/{code}")(b"", timeout=2))
    server.stop(None)


def azure():
    from azure.core.credentials import AzureNamedKeyCredential
    from azure.identity import ClientSecretCredential, DefaultAzureCredential
    from azure.storage.blob import BlobServiceClient

    import base64
    key = AzureNamedKeyCredential("acc", base64.b64encode(b"x" * 32).decode())
    for name, label in scenarios("azure"):
        client = BlobServiceClient(f"{HTTP}/s/{name}", credential=key, retry_total=0, connection_timeout=0.5)
        blob = client.get_blob_client("notes", "plan.md")
        expect(label, "azure-storage-blob", lambda: blob.download_blob())
    client = BlobServiceClient(f"http://{doors['closed']}/acc", credential=key, retry_total=0)
    expect("passing", "azure-storage-blob", lambda: client.get_blob_client("notes", "x").download_blob())
    expect("bad-argument", "azure-identity", lambda: ClientSecretCredential("a b", "c", "d"))
    assert DefaultAzureCredential


def models():
    import anthropic
    import openai

    for name, label in scenarios("openai"):
        client = openai.OpenAI(api_key="sk-abc", base_url=f"{HTTP}/s/{name}", max_retries=0)
        expect(label, "openai", lambda: client.models.list())
    for name, label in scenarios("anthropic"):
        client = anthropic.Anthropic(api_key="x", base_url=f"{HTTP}/s/{name}", max_retries=0)
        expect(label, "anthropic", lambda: client.models.list())
    for door in ["closed", "hang"]:
        client = openai.OpenAI(api_key="x", base_url=f"http://{doors[door]}", max_retries=0, timeout=0.5)
        expect("passing", "openai", lambda: client.models.list())
    expect("who-are-you", "openai", lambda: openai.OpenAI())
    expect("who-are-you", "anthropic", lambda: anthropic.Anthropic(auth_token=None, api_key=None, base_url=HTTP).models.list())


def products():
    import docker
    import elasticsearch
    import github
    import gitlab
    import hvac
    import kubernetes
    import notion_client
    import slack_sdk
    import stripe

    for name, label in scenarios("github"):
        client = github.Github(auth=github.Auth.Token("x"), base_url=f"{HTTP}/s/{name}", retry=None, timeout=1)
        expect(label, "PyGithub", lambda: client.get_repo("ana/notes"))
    for name, label in scenarios("gitlab"):
        client = gitlab.Gitlab(f"{HTTP}/s/{name}", private_token="x", retry_transient_errors=False)
        expect(label, "python-gitlab", lambda: client.http_get("/projects/1", obey_rate_limit=False))
    for name, label in scenarios("kube"):
        config = kubernetes.client.Configuration(host=f"{HTTP}/s/{name}")
        config.retries = 0
        pods = kubernetes.client.CoreV1Api(kubernetes.client.ApiClient(config))
        expect(label, "kubernetes", lambda: pods.read_namespaced_pod("web", "default"))
    expect("own-fault", "kubernetes", lambda: kubernetes.config.load_kube_config("/etc/none/config"))
    for name, label in scenarios("slack"):
        client = slack_sdk.WebClient(token="x", base_url=f"{HTTP}/s/{name}/")
        expect(label, "slack_sdk", lambda: client.conversations_history(channel="C1"))
    for name, label in scenarios("notion"):
        client = notion_client.Client(auth="x", base_url=f"{HTTP}/s/{name}")
        expect(label, "notion-client", lambda: client.pages.retrieve("1429989f"))
    for name, label in scenarios("elastic"):
        client = elasticsearch.Elasticsearch(f"{HTTP}/s/{name}", max_retries=0)
        expect(label, "elasticsearch", lambda: client.perform_request("GET", "/notes", headers={"accept": "application/json"}))
    client = elasticsearch.Elasticsearch(f"http://{doors['closed']}", max_retries=0)
    expect("passing", "elasticsearch", lambda: client.info())
    for name, label in scenarios("vault"):
        client = hvac.Client(f"{HTTP}/s/{name}", token="x")
        expect(label, "hvac", lambda: client.read("secret/notes"))
    for name, label in scenarios("docker"):
        client = docker.DockerClient(f"tcp://127.0.0.1:{doors['http'].rsplit(':')[-1]}", version="1.44")
        client.api.base_url = f"{HTTP}/s/{name}"
        expect(label, "docker", lambda: client.containers.get("web"))
    expect("passing", "docker", lambda: docker.DockerClient(f"tcp://{doors['closed']}", version="1.44").ping())
    for name, label in scenarios("stripe"):
        client = stripe.StripeClient("sk_test_abc", base_addresses={"api": f"{HTTP}/s/{name}"})
        expect(label, "stripe", lambda: client.customers.retrieve("cus_x"))


def databases():
    import asyncpg
    import duckdb
    import pymongo
    import psycopg
    import psycopg2
    import pymysql
    import redis
    import sqlalchemy

    closed_host, closed_port = doors["closed"].split(":")
    port = int(closed_port)
    expect("passing", "psycopg", lambda: psycopg.connect(host=closed_host, port=port, dbname="x", user="x"))
    expect("passing", "psycopg2-binary", lambda: psycopg2.connect(host=closed_host, port=port, dbname="x", user="x"))
    expect("passing", "asyncpg", lambda: asyncpg.connect(host=closed_host, port=port, database="x", user="x"))
    expect("passing", "pymysql", lambda: pymysql.connect(host=closed_host, port=port, user="x"))
    expect("passing", "redis", lambda: redis.Redis(closed_host, port).get("x"))
    expect("passing", "pymongo", lambda: pymongo.MongoClient(closed_host, port, serverSelectionTimeoutMS=300).db.x.find_one())
    hang_port = int(doors["hang"].split(":")[1])
    expect("passing", "psycopg", lambda: psycopg.connect(host=closed_host, port=hang_port, dbname="x", user="x", connect_timeout=2))
    expect("passing", "pymysql", lambda: pymysql.connect(host=closed_host, port=hang_port, user="x", connect_timeout=1, read_timeout=1))
    expect("passing", "redis", lambda: redis.Redis(closed_host, hang_port, socket_timeout=0.3).get("x"))
    expect("passing", "sqlalchemy", lambda: sqlalchemy.create_engine(f"postgresql+psycopg://x@{doors['closed']}/x").connect())

    folder = Path(tempfile.mkdtemp())
    path = folder / "notes.db"
    one = sqlite3.connect(path, timeout=0.1)
    one.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
    one.execute("INSERT INTO notes VALUES (1, 'x')")
    one.commit()
    one.execute("BEGIN EXCLUSIVE")
    other = sqlite3.connect(path, timeout=0.1)
    expect("passing", "sqlite3", lambda: other.execute("SELECT * FROM notes").fetchall())
    engine = sqlalchemy.create_engine(f"sqlite:///{path}", connect_args={"timeout": 0.1})
    expect("passing", "sqlalchemy", lambda: engine.connect().execute(sqlalchemy.text("SELECT * FROM notes")))
    one.rollback()
    expect("own-fault", "sqlite3", lambda: one.execute("SELECT * FROM nots"))
    expect("own-fault", "sqlite3", lambda: one.execute("SELECT owner FROM notes"))
    expect("own-fault", "sqlalchemy", lambda: engine.connect().execute(sqlalchemy.text("SELECT owner FROM notes")))
    expect("bad-argument", "sqlite3", lambda: one.execute("INSERT INTO notes VALUES (1, 'y')"))
    expect("bad-argument", "sqlite3", lambda: one.execute("INSERT INTO notes VALUES (2, NULL)"))
    expect("bad-argument", "sqlite3", lambda: one.execute("INSERT INTO notes VALUES ('abc', 'y')"))
    expect("own-fault", "sqlite3", lambda: sqlite3.connect(folder / "none" / "x.db").execute("SELECT 1"))
    (folder / "not.db").write_text("this is no database " * 100)
    expect("own-fault", "sqlite3", lambda: sqlite3.connect(folder / "not.db").execute("SELECT * FROM x"))
    duck = duckdb.connect()
    expect("own-fault", "duckdb", lambda: duck.execute("SELECT * FROM nots"))
    expect("bad-argument", "duckdb", lambda: duck.execute("SELECT CAST('abc' AS INTEGER)"))
    expect("absent", "duckdb", lambda: duck.execute("SELECT * FROM 'notes.parquet'"))


def postgres():
    """A server of our own, in a folder of our own, on loopback alone."""
    import asyncpg
    import psycopg
    import psycopg2

    binaries = os.environ.get("POSTGRES_BIN", "")
    if not binaries:
        print("POSTGRES_BIN is not set: no rows of PostgreSQL")
        return
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    data = folder / "data"
    user = os.environ.get("POSTGRES_USER", "nobody")
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]

    def run(*command):
        subprocess.run(["setpriv", f"--reuid={user}", "--clear-groups", *command], check=True, cwd=folder,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={"PATH": os.environ["PATH"], "HOME": str(folder)})

    run(f"{binaries}/initdb", "-D", str(data), "-U", "boss", "-A", "trust")
    (data / "pg_hba.conf").write_text("host all boss 127.0.0.1/32 trust\nhost all guest 127.0.0.1/32 trust\n"
                                      "host all ana 127.0.0.1/32 scram-sha-256\n")
    run(f"{binaries}/pg_ctl", "-D", str(data), "-w", "-l", str(folder / "log"), "-o",
        f"-h 127.0.0.1 -p {port} -k {folder} -c max_connections=10 -c superuser_reserved_connections=1", "start")
    try:
        def boss():
            return psycopg.connect(host="127.0.0.1", port=port, user="boss", dbname="postgres", autocommit=True)

        admin = boss()
        for command in ["CREATE ROLE guest LOGIN", "CREATE ROLE ana LOGIN PASSWORD 'x'",
                        "CREATE TABLE notes (id INTEGER PRIMARY KEY, text VARCHAR(5) NOT NULL)",
                        "INSERT INTO notes VALUES (1, 'x')"]:
            admin.execute(command)
        for package, connect in [("psycopg", psycopg.connect), ("psycopg2-binary", psycopg2.connect)]:
            at = {"host": "127.0.0.1", "port": port}
            expect("who-are-you", package, lambda: connect(**at, user="ana", password="wrong", dbname="postgres"))
            expect("own-fault", package, lambda: connect(**at, user="boss", dbname="nothere"))

            def ask(command, user="boss"):
                limits = "-c statement_timeout=600 -c lock_timeout=200"
                connection = connect(**at, user=user, dbname="postgres", options=limits)
                try:
                    connection.cursor().execute(command)
                finally:
                    connection.close()

            expect("not-allowed", package, lambda: ask("SELECT * FROM notes", "guest"))
            expect("not-allowed", package, lambda: ask("CREATE ROLE x", "guest"))
            expect("passing", package, lambda: ask("SELECT pg_sleep(2)"))
            expect("own-fault", package, lambda: ask("SELECT * FROM nots"))
            expect("own-fault", package, lambda: ask("SELECT owner FROM notes"))
            expect("bad-argument", package, lambda: ask("SELECT * FROM notes WHERE id = 'abc'"))
            expect("bad-argument", package, lambda: ask("INSERT INTO notes VALUES (3, 'longer than five')"))
            expect("bad-argument", package, lambda: ask("INSERT INTO notes VALUES (1, 'y')"))
            expect("bad-argument", package, lambda: ask("INSERT INTO notes VALUES (99999999999, 'y')"))
            expect("passing", package, lambda: ask("SELECT pg_terminate_backend(pg_backend_pid())"))
            with boss() as locker:
                with locker.transaction():
                    locker.execute("LOCK TABLE notes IN ACCESS EXCLUSIVE MODE")
                    expect("passing", package, lambda: ask("SELECT * FROM notes"))
                    expect("passing", package, lambda: ask("SELECT * FROM notes FOR UPDATE NOWAIT"))
        expect("who-are-you", "asyncpg", lambda: asyncpg.connect(host="127.0.0.1", port=port, user="ana", password="w", database="postgres"))
        expect("who-are-you", "asyncpg", lambda: asyncpg.connect(host="127.0.0.1", port=port, user="eve", database="postgres"))
        held = []
        try:
            for _ in range(30):
                held.append(psycopg.connect(host="127.0.0.1", port=port, user="guest", dbname="postgres"))
        except psycopg.OperationalError as error:
            keep("passing", "psycopg", error)
        expect("passing", "asyncpg", lambda: asyncpg.connect(host="127.0.0.1", port=port, user="guest", database="postgres"))
        for each in held:
            each.close()
        admin.close()
    finally:
        run(f"{binaries}/pg_ctl", "-D", str(data), "-m", "immediate", "stop")


def redis_server():
    import redis

    binary = os.environ.get("REDIS_SERVER", "")
    if not binary:
        print("REDIS_SERVER is not set: no rows of Redis")
        return
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    server = subprocess.Popen([binary, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--requirepass", "x",
                               "--dir", tempfile.mkdtemp()], stdout=subprocess.DEVNULL)
    try:
        admin = redis.Redis("127.0.0.1", port, password="x")
        for _ in range(50):
            try:
                admin.ping()
                break
            except redis.ConnectionError:
                __import__("time").sleep(0.1)
        expect("who-are-you", "redis", lambda: redis.Redis("127.0.0.1", port).get("x"))
        expect("who-are-you", "redis", lambda: redis.Redis("127.0.0.1", port, password="y").get("x"))
        admin.execute_command("ACL", "SETUSER", "guest", "on", "nopass", "~pub:*", "+get")
        guest = redis.Redis("127.0.0.1", port, username="guest", password="any")
        expect("not-allowed", "redis", lambda: guest.get("secret"))
        expect("not-allowed", "redis", lambda: guest.set("pub:x", 1))
        admin.set("text", "abc")
        expect("bad-argument", "redis", lambda: admin.incr("text"))
        expect("bad-argument", "redis", lambda: admin.execute_command("GET"))
        expect("bad-argument", "redis", lambda: admin.execute_command("SET", "a", "b", "EX", "-1"))
        expect("absent", "redis", lambda: admin.rename("nothere", "x"))
        admin.config_set("maxmemory", "1")
        expect("own-fault", "redis", lambda: admin.set("big", "x" * 1000))
        admin.config_set("maxmemory", "0")
        admin.config_set("maxclients", "2")
        held = [redis.Redis("127.0.0.1", port, password="x") for _ in range(3)]
        expect("passing", "redis", lambda: [each.ping() for each in held])
    finally:
        server.terminate()
        server.wait()


def mysql_server():
    import pymysql

    binary = os.environ.get("MARIADBD", "")
    if not binary:
        print("MARIADBD is not set: no rows of MySQL")
        return
    folder = Path(tempfile.mkdtemp())
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    setup = folder / "setup.sql"
    setup.write_text("CREATE DATABASE IF NOT EXISTS mysql; USE mysql;\n")
    share = os.environ.get("MARIADB_SHARE", "/usr/share/mysql")
    common = [binary, "--no-defaults", f"--datadir={folder}/data", f"--lc-messages-dir={share}", "--user=root",
              f"--pid-file={folder}/pid", f"--socket={folder}/sock", f"--plugin-dir={folder}"]
    (folder / "data" / "mysql").mkdir(parents=True)
    tables = "".join((Path(share) / name).read_text() for name in
                     ["mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql"])
    people = ("FLUSH PRIVILEGES;\nCREATE USER boss@'127.0.0.1' IDENTIFIED BY 'x';\nGRANT ALL ON *.* TO boss@'127.0.0.1';\n"
              "CREATE USER guest@'127.0.0.1';\nCREATE DATABASE app;\n"
              "CREATE TABLE app.notes (id INT PRIMARY KEY, text VARCHAR(5) NOT NULL) ENGINE=InnoDB;\n"
              "INSERT INTO app.notes VALUES (1, 'x');\n")
    subprocess.run([*common, "--bootstrap"], input="USE mysql;\n" + tables + people, text=True, check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server = subprocess.Popen([*common, f"--port={port}", "--bind-address=127.0.0.1", "--skip-name-resolve"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        def boss(**more):
            return pymysql.connect(host="127.0.0.1", port=port, user="boss", password="x", **more)

        for _ in range(100):
            try:
                boss().close()
                break
            except pymysql.OperationalError:
                __import__("time").sleep(0.1)

        def ask(command, **more):
            with boss(database="app", **more).cursor() as cursor:
                cursor.execute(command)

        at = {"host": "127.0.0.1", "port": port}
        expect("who-are-you", "pymysql", lambda: pymysql.connect(**at, user="boss", password="wrong"))
        expect("not-allowed", "pymysql", lambda: pymysql.connect(**at, user="guest", database="app"))
        expect("own-fault", "pymysql", lambda: boss(database="nothere"))
        expect("own-fault", "pymysql", lambda: ask("SELECT * FROM nots"))
        expect("own-fault", "pymysql", lambda: ask("SELECT owner FROM notes"))
        expect("bad-argument", "pymysql", lambda: ask("INSERT INTO notes VALUES (2, 'longer than five')"))
        expect("bad-argument", "pymysql", lambda: ask("INSERT INTO notes VALUES ('abc', 'y')"))
        expect("bad-argument", "pymysql", lambda: ask("INSERT INTO notes VALUES (1, 'y')"))
        holder = boss(database="app", autocommit=False)
        holder.cursor().execute("SELECT * FROM notes FOR UPDATE")
        expect("passing", "pymysql", lambda: ask("SET innodb_lock_wait_timeout = 1") or ask("SELECT * FROM notes FOR UPDATE", init_command="SET innodb_lock_wait_timeout = 1"))
        holder.close()
        expect("passing", "pymysql", lambda: ask("SELECT SLEEP(3)", read_timeout=1))
        killer = boss()
        victim = boss()
        killer.cursor().execute(f"KILL {victim.thread_id()}")
        expect("passing", "pymysql", lambda: victim.cursor().execute("SELECT 1"))
    finally:
        server.terminate()
        server.wait()


CALLS = {errno.ENOENT: "absent", errno.ESRCH: "absent", errno.EACCES: "not-allowed", errno.EPERM: "not-allowed",
         errno.EAGAIN: "passing", errno.EBUSY: "passing", errno.EINTR: "passing", errno.EPIPE: "passing",
         errno.ECONNRESET: "passing", errno.ECONNREFUSED: "passing", errno.ECONNABORTED: "passing",
         errno.ETIMEDOUT: "passing", errno.EHOSTUNREACH: "passing", errno.ENETUNREACH: "passing",
         errno.ENETDOWN: "passing", errno.EHOSTDOWN: "passing", errno.EINVAL: "bad-argument",
         errno.ENAMETOOLONG: "bad-argument", errno.ERANGE: "bad-argument", errno.E2BIG: "bad-argument",
         errno.ENOSPC: "own-fault", errno.EIO: "own-fault", errno.ENOMEM: "own-fault", errno.ENFILE: "passing",
         errno.EMFILE: "passing", errno.EDQUOT: "own-fault", errno.ENOSYS: "own-fault"}


def system():
    for number, label in CALLS.items():
        keep(label, "os", OSError(number, os.strerror(number)))
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    expect("absent", "os", lambda: open(folder / "plan.md"))
    expect("absent", "os", lambda: os.listdir(folder / "notes"))
    expect("own-fault", "os", lambda: Path("/dev/full").write_text("x" * 10000))
    expect("own-fault", "os", lambda: subprocess.run(["no-such-program"]))
    expect("own-fault", "os", lambda: subprocess.run(["false"], check=True))
    expect("passing", "os", lambda: subprocess.run(["sleep", "3"], timeout=0.1))
    secret = folder / "secret.md"
    secret.write_text("x")
    secret.chmod(0o600)
    program = f"open({str(secret)!r})"
    told = subprocess.run(["setpriv", "--reuid=nobody", "--clear-groups", "/usr/bin/python3", "-c", program],
                          capture_output=True, text=True)
    rows.add("not-allowed", "Python, traceback", told.stderr)
    rows.add("not-allowed", "Python, os", told.stderr.strip().splitlines()[-1])
    expect("passing", "socket", lambda: socket.create_connection(tuple(doors["closed"].split(":"))))
    expect("passing", "socket", lambda: socket.getaddrinfo("notes.invalid", 80))
    expect("own-fault", "ssl", lambda: ssl.create_default_context().wrap_socket(
        socket.create_connection(("127.0.0.1", int(doors["tls"].split(":")[1]))), server_hostname="localhost"))
    for label, program in [("own-fault", "import nothere"), ("own-fault", "None.name"), ("own-fault", "1 / 0"),
                           ("own-fault", "undefined_name"), ("own-fault", "[][0]"), ("own-fault", "(lambda: 1)(2)"),
                           ("own-fault", "def f(): return f()\nf()"), ("own-fault", "'a' + 1"),
                           ("own-fault", "from os import nothere"), ("own-fault", "assert 1 == 2, 'invariant broken'"),
                           ("bad-argument", "int('abc')"), ("bad-argument", "__import__('datetime').date.fromisoformat('soon')"),
                           ("bad-argument", "__import__('uuid').UUID('x')"), ("bad-argument", "__import__('ipaddress').ip_address('x')"),
                           ("bad-argument", "__import__('re').compile('[')")]:
        expect(label, "Python", lambda: exec(program, {}))


def validation():
    import jsonschema
    import pydantic
    from typing import Literal

    class Ask(pydantic.BaseModel):
        timeout: pydantic.PositiveInt
        order: Literal["new", "old"] = "new"
        name: str = pydantic.Field(default="x", max_length=5, pattern="^[a-z]+$")

    for given in [{}, {"timeout": -1}, {"timeout": "soon"}, {"timeout": 1, "order": "any"}, {"timeout": 1, "name": "longer name"}]:
        expect("bad-argument", "pydantic", lambda: Ask(**given))
    schema = {"type": "object", "properties": {"page": {"type": "integer", "minimum": 1}}, "required": ["page"],
              "additionalProperties": False}
    for given in [{}, {"page": 0}, {"page": "x"}, {"page": 1, "pag": 2}]:
        expect("bad-argument", "jsonschema", lambda: jsonschema.validate(given, schema))


def tokens():
    import jwt
    import msal

    key = "k" * 32
    expect("who-are-you", "PyJWT", lambda: jwt.decode(jwt.encode({"exp": 1}, key), key, ["HS256"]))
    expect("who-are-you", "PyJWT", lambda: jwt.decode(jwt.encode({"a": 1}, key), "z" * 32, ["HS256"]))
    expect("who-are-you", "PyJWT", lambda: jwt.decode("x", key, ["HS256"]))
    assert msal


PARTS = [http_clients, amazon, google_cloud, rpc, azure, models, products, databases, postgres, redis_server,
         mysql_server, system, validation, tokens]

if __name__ == "__main__":
    for part in PARTS:
        try:
            part()
        except Exception:  # noqa: BLE001 one part less is no reason to lose the others
            print(f"{part.__name__} broke off")
            traceback.print_exc()
    rows.write()
    os._exit(0)
