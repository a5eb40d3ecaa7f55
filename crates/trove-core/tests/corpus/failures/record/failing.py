"""A server on loopback that fails on purpose, for the recorders of every language.

`python failing.py` prints one JSON object with the addresses of its doors:

    http    answers `/s/<scenario>/…` as the table ANSWERS says, `/n/<status>/…` with that status
    reset   ends each connection with a reset
    empty   ends each connection without a word
    hang    accepts and never answers
    html    speaks no HTTP at all
    tls     shows a certificate that nobody trusts
    closed  nothing listens there

All addresses are on 127.0.0.1. It ends when its standard input does.
"""

import http.server
import json
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

JSON = "application/json"
XML = "application/xml"


def body(value):
    return (JSON, json.dumps(value))


def s3(code, message):
    return (XML, f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{message}</Message>"
                 f"<RequestId>4442587FB7D0A2F9</RequestId></Error>")


def aws(kind, message):
    return body({"__type": kind, "message": message})


def google(code, status, message, reason=None):
    error = {"code": code, "message": message, "status": status}
    if reason:
        error["errors"] = [{"message": message, "domain": "global", "reason": reason}]
    return body({"error": error})


def openai(message, kind, code=None):
    return body({"error": {"message": message, "type": kind, "param": None, "code": code}})


def anthropic(kind, message):
    return body({"type": "error", "error": {"type": kind, "message": message}})


def github(message, status):
    return body({"message": message, "documentation_url": "https://docs.github.com/rest", "status": str(status)})


def kube(reason, message, code):
    return body({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                 "message": message, "reason": reason, "code": code})


# name: status, label, body. The label says what such an answer means, by its maker's documents.
ANSWERS = {
    "s3-key": (404, "absent", s3("NoSuchKey", "The specified key does not exist.")),
    "s3-bucket": (404, "absent", s3("NoSuchBucket", "The specified bucket does not exist")),
    "s3-denied": (403, "not-allowed", s3("AccessDenied", "Access Denied")),
    "s3-keyid": (403, "who-are-you", s3("InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")),
    "s3-signature": (403, "who-are-you", s3("SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided. Check your key and signing method.")),
    "s3-expired": (400, "who-are-you", s3("ExpiredToken", "The provided token has expired.")),
    "s3-slow": (503, "passing", s3("SlowDown", "Please reduce your request rate.")),
    "s3-internal": (500, "own-fault", s3("InternalError", "We encountered an internal error. Please try again.")),
    "s3-name": (400, "bad-argument", s3("InvalidBucketName", "The specified bucket is not valid.")),
    "s3-range": (416, "bad-argument", s3("InvalidRange", "The requested range is not satisfiable")),
    "ddb-throttling": (400, "passing", aws("com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException", "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API.")),
    "ddb-rate": (400, "passing", aws("ThrottlingException", "Rate exceeded")),
    "ddb-table": (400, "absent", aws("com.amazonaws.dynamodb.v20120810#ResourceNotFoundException", "Requested resource not found")),
    "ddb-denied": (400, "not-allowed", aws("AccessDeniedException", "User: arn:aws:iam::123456789012:user/ana is not authorized to perform: dynamodb:GetItem on resource: arn:aws:dynamodb:eu-west-1:123456789012:table/notes because no identity-based policy allows the dynamodb:GetItem action")),
    "ddb-token": (400, "who-are-you", aws("UnrecognizedClientException", "The security token included in the request is invalid.")),
    "ddb-expired": (400, "who-are-you", aws("ExpiredTokenException", "The security token included in the request is expired")),
    "ddb-validation": (400, "bad-argument", aws("ValidationException", "One or more parameter values were invalid: Missing the key id in the item")),
    "ddb-internal": (500, "own-fault", aws("InternalServerError", "Internal server error")),
    "ddb-away": (503, "passing", aws("ServiceUnavailable", "The service is temporarily unavailable")),
    "gcs-object": (404, "absent", google(404, "NOT_FOUND", "No such object: notes/plan.md", "notFound")),
    "gcs-denied": (403, "not-allowed", google(403, "PERMISSION_DENIED", "ana@example.com does not have storage.objects.get access to the Google Cloud Storage object.", "forbidden")),
    "gcs-anonymous": (401, "who-are-you", google(401, "UNAUTHENTICATED", "Anonymous caller does not have storage.objects.get access to the Google Cloud Storage object.", "required")),
    "gcs-quota": (429, "passing", google(429, "RESOURCE_EXHAUSTED", "Quota exceeded for quota metric 'Read requests' and limit 'Read requests per minute per user'", "rateLimitExceeded")),
    "gcs-backend": (503, "passing", google(503, "UNAVAILABLE", "Backend Error", "backendError")),
    "gcs-argument": (400, "bad-argument", google(400, "INVALID_ARGUMENT", "Invalid value at 'page_size' (TYPE_INT32), \"many\"", "invalid")),
    "gcs-internal": (500, "own-fault", google(500, "INTERNAL", "Internal error encountered.", "internalError")),
    "azure-blob": (404, "absent", (XML, "<?xml version='1.0'?><Error><Code>BlobNotFound</Code><Message>The specified blob does not exist.</Message></Error>")),
    "azure-denied": (403, "not-allowed", (XML, "<?xml version='1.0'?><Error><Code>AuthorizationPermissionMismatch</Code><Message>This request is not authorized to perform this operation using this permission.</Message></Error>")),
    "azure-login": (401, "who-are-you", (XML, "<?xml version='1.0'?><Error><Code>InvalidAuthenticationInfo</Code><Message>Server failed to authenticate the request. Please refer to the information in the www-authenticate header.</Message></Error>")),
    "azure-busy": (503, "passing", (XML, "<?xml version='1.0'?><Error><Code>ServerBusy</Code><Message>The server is busy.</Message></Error>")),
    "azure-input": (400, "bad-argument", (XML, "<?xml version='1.0'?><Error><Code>InvalidInput</Code><Message>One of the request inputs is not valid.</Message></Error>")),
    "openai-key": (401, "who-are-you", openai("Incorrect API key provided: sk-abc. You can find your API key at https://platform.openai.com/account/api-keys.", "invalid_request_error", "invalid_api_key")),
    "openai-rate": (429, "passing", openai("Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29500, Requested 1200. Please try again in 1.4s.", "tokens", "rate_limit_exceeded")),
    "openai-model": (404, "absent", openai("The model `gpt-9` does not exist or you do not have access to it.", "invalid_request_error", "model_not_found")),
    "openai-argument": (400, "bad-argument", openai("Invalid 'temperature': expected a value <= 2, but got 7.", "invalid_request_error", "invalid_value")),
    "openai-length": (400, "bad-argument", openai("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", "invalid_request_error", "context_length_exceeded")),
    "openai-internal": (500, "own-fault", openai("The server had an error processing your request.", "server_error")),
    "openai-region": (403, "not-allowed", openai("Country, region, or territory not supported", "request_forbidden", "unsupported_country_region_territory")),
    "anthropic-key": (401, "who-are-you", anthropic("authentication_error", "invalid x-api-key")),
    "anthropic-over": (529, "passing", anthropic("overloaded_error", "Overloaded")),
    "anthropic-rate": (429, "passing", anthropic("rate_limit_error", "This request would exceed your organization's rate limit of 50,000 input tokens per minute.")),
    "anthropic-model": (404, "absent", anthropic("not_found_error", "model: claude-9")),
    "anthropic-argument": (400, "bad-argument", anthropic("invalid_request_error", "max_tokens: Input should be greater than or equal to 1")),
    "anthropic-denied": (403, "not-allowed", anthropic("permission_error", "Your API key does not have permission to use the specified resource.")),
    "anthropic-internal": (500, "own-fault", anthropic("api_error", "Internal server error")),
    "github-login": (401, "who-are-you", github("Bad credentials", 401)),
    "github-auth": (401, "who-are-you", github("Requires authentication", 401)),
    "github-absent": (404, "absent", github("Not Found", 404)),
    "github-rate": (403, "passing", github("API rate limit exceeded for 127.0.0.1. (But here's the good news: Authenticated requests get a higher rate limit. Check out the documentation for more details.)", 403)),
    "github-second": (403, "passing", github("You have exceeded a secondary rate limit. Please wait a few minutes before you try again.", 403)),
    "github-token": (403, "not-allowed", github("Resource not accessible by personal access token", 403)),
    "github-admin": (403, "not-allowed", github("Must have admin rights to Repository.", 403)),
    "github-argument": (422, "bad-argument", body({"message": "Validation Failed", "errors": [{"resource": "Issue", "code": "missing_field", "field": "title"}]})),
    "github-broken": (500, "own-fault", github("Server Error", 500)),
    "github-unicorn": (502, "passing", github("Server Error", 502)),
    "gitlab-project": (404, "absent", body({"message": "404 Project Not Found"})),
    "gitlab-login": (401, "who-are-you", body({"message": "401 Unauthorized"})),
    "gitlab-scope": (403, "not-allowed", body({"error": "insufficient_scope", "error_description": "The request requires higher privileges than provided by the access token.", "scope": "api"})),
    "gitlab-rate": (429, "passing", ("text/plain", "Retry later\n")),
    "kube-pod": (404, "absent", kube("NotFound", 'pods "web" not found', 404)),
    "kube-denied": (403, "not-allowed", kube("Forbidden", 'pods is forbidden: User "ana" cannot list resource "pods" in API group "" in the namespace "default"', 403)),
    "kube-login": (401, "who-are-you", kube("Unauthorized", "Unauthorized", 401)),
    "kube-invalid": (422, "bad-argument", kube("Invalid", 'Pod "web" is invalid: spec.containers: Required value', 422)),
    "kube-away": (503, "passing", kube("ServiceUnavailable", "the server is currently unable to handle the request", 503)),
    "kube-timeout": (504, "passing", kube("Timeout", "Timeout: request did not complete within the allotted timeout", 504)),
    "stripe-customer": (404, "absent", body({"error": {"type": "invalid_request_error", "code": "resource_missing", "message": "No such customer: 'cus_x'", "param": "id"}})),
    "stripe-key": (401, "who-are-you", body({"error": {"type": "invalid_request_error", "message": "Invalid API Key provided: sk_test_****abc"}})),
    "stripe-rate": (429, "passing", body({"error": {"type": "invalid_request_error", "code": "rate_limit", "message": "Request rate limit exceeded."}})),
    "stripe-param": (400, "bad-argument", body({"error": {"type": "invalid_request_error", "code": "parameter_unknown", "message": "Received unknown parameter: colour", "param": "colour"}})),
    "slack-login": (200, "who-are-you", body({"ok": False, "error": "not_authed"})),
    "slack-token": (200, "who-are-you", body({"ok": False, "error": "token_expired"})),
    "slack-scope": (200, "not-allowed", body({"ok": False, "error": "missing_scope", "needed": "channels:history", "provided": "chat:write"})),
    "slack-channel": (200, "absent", body({"ok": False, "error": "channel_not_found"})),
    "slack-rate": (429, "passing", body({"ok": False, "error": "ratelimited"})),
    "slack-argument": (200, "bad-argument", body({"ok": False, "error": "invalid_arguments"})),
    "notion-page": (404, "absent", body({"object": "error", "status": 404, "code": "object_not_found", "message": "Could not find page with ID: 1429989f. Make sure the relevant pages and databases are shared with your integration."})),
    "notion-token": (401, "who-are-you", body({"object": "error", "status": 401, "code": "unauthorized", "message": "API token is invalid."})),
    "notion-denied": (403, "not-allowed", body({"object": "error", "status": 403, "code": "restricted_resource", "message": "Insufficient permissions for this endpoint."})),
    "notion-conflict": (409, "passing", body({"object": "error", "status": 409, "code": "conflict_error", "message": "Conflict occurred while saving. Please try again."})),
    "notion-argument": (400, "bad-argument", body({"object": "error", "status": 400, "code": "validation_error", "message": "path failed validation: path.page_id should be a valid uuid, instead was `\"x\"`."})),
    "elastic-index": (404, "absent", body({"error": {"root_cause": [{"type": "index_not_found_exception", "reason": "no such index [notes]"}], "type": "index_not_found_exception", "reason": "no such index [notes]"}, "status": 404})),
    "elastic-login": (401, "who-are-you", body({"error": {"root_cause": [{"type": "security_exception", "reason": "missing authentication credentials for REST request [/notes]"}], "type": "security_exception", "reason": "missing authentication credentials for REST request [/notes]"}, "status": 401})),
    "elastic-denied": (403, "not-allowed", body({"error": {"root_cause": [{"type": "security_exception", "reason": "action [indices:data/read/search] is unauthorized for user [ana]"}], "type": "security_exception", "reason": "action [indices:data/read/search] is unauthorized for user [ana]"}, "status": 403})),
    "elastic-busy": (429, "passing", body({"error": {"type": "es_rejected_execution_exception", "reason": "rejected execution of coordinating operation"}, "status": 429})),
    "elastic-query": (400, "bad-argument", body({"error": {"type": "parsing_exception", "reason": "unknown query [matsch] did you mean [match]?"}, "status": 400})),
    "docker-container": (404, "absent", body({"message": "No such container: web"})),
    "docker-internal": (500, "own-fault", body({"message": "server error"})),
    "vault-denied": (403, "not-allowed", body({"errors": ["1 error occurred:\n\t* permission denied\n\n"]})),
    "vault-sealed": (503, "passing", body({"errors": ["Vault is sealed"]})),
    "problem-absent": (404, "absent", ("application/problem+json", json.dumps({"type": "about:blank", "title": "Not Found", "status": 404, "detail": "No note has the id 17"}))),
    "problem-denied": (403, "not-allowed", ("application/problem+json", json.dumps({"type": "about:blank", "title": "Forbidden", "status": 403, "detail": "Only owners may see this board"}))),
    "fastapi-422": (422, "bad-argument", body({"detail": [{"type": "int_parsing", "loc": ["query", "page"], "msg": "Input should be a valid integer, unable to parse string as an integer", "input": "x"}]})),
    "fastapi-401": (401, "who-are-you", body({"detail": "Not authenticated"})),
    "oauth-grant": (400, "who-are-you", body({"error": "invalid_grant", "error_description": "Token has been expired or revoked."})),
    "oauth-client": (401, "who-are-you", body({"error": "invalid_client", "error_description": "The OAuth client was not found."})),
    "nginx-502": (502, "passing", ("text/html", "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx/1.22.1</center>\r\n</body>\r\n</html>\r\n")),
    "nginx-504": (504, "passing", ("text/html", "<html>\r\n<head><title>504 Gateway Time-out</title></head>\r\n<body>\r\n<center><h1>504 Gateway Time-out</h1></center>\r\n<hr><center>nginx/1.22.1</center>\r\n</body>\r\n</html>\r\n")),
    "html": (200, "own-fault", ("text/html", "<!DOCTYPE html><html><body>Welcome</body></html>")),
    "broken-json": (200, "own-fault", (JSON, '{"notes": [1, 2')),
}


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        length = int(self.headers.get("content-length") or 0)
        self.rfile.read(length)
        parts = self.path.split("/")
        kind, text = "text/plain", ""
        extra = {}
        if parts[1] == "n":
            status = int(parts[2].split("?")[0])
        elif parts[1] == "loop":
            status, extra = 302, {"Location": self.path}
        else:
            status, _, (kind, text) = ANSWERS[parts[2].split("?")[0]]
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in extra.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = do_PATCH = answer

    def log_message(self, *_):
        pass


class Http(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


def door(each):
    """Listens on a free port and does `each` to every connection."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=each, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


def reset(connection):
    connection.recv(1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def empty(connection):
    connection.recv(65536)
    connection.close()


def hang(connection):
    time.sleep(600)
    connection.close()


def html(connection):
    connection.sendall(b"220 mail.example ESMTP ready\r\n")
    time.sleep(1)
    connection.close()


def tls_door():
    folder = Path(tempfile.mkdtemp())
    key, certificate = folder / "key.pem", folder / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                    "-days", "1", "-subj", "/CN=localhost"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def each(connection):
        try:
            context.wrap_socket(connection, server_side=True)
        except (OSError, ssl.SSLError):
            pass

    return door(each)


def start():
    server = Http(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as unused:
        closed = unused.getsockname()[1]
    ports = {"http": server.server_address[1], "reset": door(reset), "empty": door(empty), "hang": door(hang),
             "html": door(html), "tls": tls_door(), "closed": closed}
    return {name: f"127.0.0.1:{port}" for name, port in ports.items()}


if __name__ == "__main__":
    answers = {name: {"status": status, "label": label} for name, (status, label, _) in ANSWERS.items()}
    print(json.dumps({"doors": start(), "answers": answers}), flush=True)
    sys.stdin.read()
