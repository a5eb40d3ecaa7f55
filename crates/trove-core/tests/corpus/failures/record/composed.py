"""Failures of what cannot be run here, in the form its documents or its users show them."""

from rows import Rows

ABSENT = """
MongoDB | MongoServerError: ns not found
Redis | ERR no such key
kubectl | Error from server (NotFound): deployments.apps "web" not found
gh | gh: Not Found (HTTP 404)
gh | GraphQL: Could not resolve to a Repository with the name 'ana/notes'. (repository)
git | fatal: path 'docs/plan.md' does not exist in 'HEAD'
git | fatal: repository 'https://git.example/ana/notes.git/' not found
aws | An error occurred (404) when calling the HeadObject operation: Not Found
aws | An error occurred (ResourceNotFoundException) when calling the GetSecretValue operation: Secrets Manager can't find the specified secret.
aws | An error occurred (ParameterNotFound) when calling the GetParameter operation: 
aws | An error occurred (NoSuchEntity) when calling the GetRole operation: The role with name reader cannot be found.
gcloud | ERROR: (gcloud.compute.instances.describe) Could not fetch resource: - The resource 'projects/p/zones/z/instances/web' was not found
Azure | ResourceNotFound: The Resource 'Microsoft.Web/sites/notes' under resource group 'rg' was not found.
curl | curl: (22) The requested URL returned error: 404
Docker | Error: No such container: web
Docker | Error response from daemon: No such image: web:latest
Google Drive | File not found: 1AbC.
Jira | Issue does not exist or you do not have permission to see it.
Confluence | com.atlassian.confluence.api.service.exceptions.NotFoundException: No content found with id: ContentId{id=17}
Linear | Entity not found: Issue - Could not find referenced Issue.
Ruby | Errno::ENOENT: No such file or directory @ rb_sysopen - /srv/notes/plan.md
Rails | ActiveRecord::RecordNotFound: Couldn't find Note with 'id'=17
.NET | System.IO.FileNotFoundException: Could not find file '/srv/notes/plan.md'.
.NET | System.IO.DirectoryNotFoundException: Could not find a part of the path '/srv/notes/2026/plan.md'.
Windows | The system cannot find the file specified. (os error 2)
Windows | The system cannot find the path specified.
PHP | file_get_contents(/srv/notes/plan.md): Failed to open stream: No such file or directory
Laravel | No query results for model [App\\Models\\Note] 17
Django | notes.models.Note.DoesNotExist: Note matching query does not exist.
SQLAlchemy | sqlalchemy.exc.NoResultFound: No row was found when one was required
Prisma | An operation failed because it depends on one or more records that were required but not found. No Note found
Elixir | ** (Ecto.NoResultsError) expected at least one result but got none in query
etcd | Key not found (/notes/17)
Consul | No such KV entry at notes/17
Firestore | No document to update: projects/p/databases/(default)/documents/notes/17
Kafka | UnknownTopicOrPartitionException: This server does not host this topic-partition.
Kafka | KafkaError{code=UNKNOWN_TOPIC_OR_PART,val=3,str="Broker: Unknown topic or partition"}
MCP filesystem | Error: ENOENT: no such file or directory, stat '/srv/notes/2026/plan.md'
MCP TypeScript | MCP error -32602: Resource notes://17 not found
MCP Python | Unknown resource: notes://17
MCP | Resource not found: notes://17
MCP | Error reading resource notes://17: Note 17 not found
a person | Note not found
a person | There is no note with id 17
a person | No note named 'weekly' exists
a person | The page you asked for has been deleted
a person | User 42 does not exist
a person | could not find project "apollo"
a person | No results for id 17
a person | This message has been removed by its author
a person | Entity "Ana" not found in the graph
a person | Section 4 is missing from the handbook
a person | No matching document
a person | Unknown page: Roadmap
a person | the issue was closed and is no longer available
a person | Item was not found in the store
a person | {"error": "not_found", "detail": "Note 17 is gone"}
a person | {"success": false, "error": {"code": "NOTE_NOT_FOUND", "message": "No such note"}}
a person | {"status": "error", "code": 404, "message": "Nothing here"}
a person | Invalid id: no note with that id
a person | 404 page not found
a person | HTTP 410 Gone
"""

PASSING = """
MySQL | (1205, 'Lock wait timeout exceeded; try restarting transaction')
MySQL | (1213, 'Deadlock found when trying to get lock; try restarting transaction')
MySQL | (2006, 'MySQL server has gone away')
MySQL | (2013, 'Lost connection to MySQL server during query')
MySQL | ERROR 1040 (HY000): Too many connections
PostgreSQL | FATAL:  the database system is starting up
PostgreSQL | ERROR:  deadlock detected
PostgreSQL | ERROR:  could not serialize access due to concurrent update
PostgreSQL | FATAL:  remaining connection slots are reserved for non-replication superuser connections
PostgreSQL | server closed the connection unexpectedly
Redis | LOADING Redis is loading the dataset in memory
Redis | BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.
Redis | TRYAGAIN Multiple keys request during rehashing of slot
Redis | CLUSTERDOWN The cluster is down
SQLite | sqlite3.OperationalError: database table is locked: notes
SQLite | SQLITE_BUSY: database is locked
SQLite | database is locked
Oracle | ORA-00054: resource busy and acquire with NOWAIT specified or timeout expired
Oracle | ORA-12170: TNS:Connect timeout occurred
SQL Server | Transaction (Process ID 52) was deadlocked on lock resources with another process and has been chosen as the deadlock victim. Rerun the transaction.
SQL Server | Execution Timeout Expired.  The timeout period elapsed prior to completion of the operation or the server is not responding.
MongoDB | MongoServerSelectionError: connect ECONNREFUSED 127.0.0.1:27017
MongoDB | NotPrimaryError: not primary
Cassandra | OperationTimedOut: errors={}, last_host=127.0.0.1
Elasticsearch | [429] es_rejected_execution_exception: rejected execution of search
Kafka | KafkaError{code=_TRANSPORT,val=-195,str="Local: Broker transport failure"}
Kafka | org.apache.kafka.common.errors.TimeoutException: Topic notes not present in metadata after 60000 ms.
RabbitMQ | AMQPConnectionError: Connection refused
kubectl | Unable to connect to the server: dial tcp 127.0.0.1:6443: i/o timeout
kubectl | The connection to the server localhost:8080 was refused - did you specify the right host or port?
Docker | Error response from daemon: Get "https://registry.example/v2/": net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers)
git | fatal: unable to access 'https://git.example/ana/notes.git/': Could not resolve host: git.example
git | ssh: connect to host git.example port 22: Connection timed out
git | error: RPC failed; curl 56 Recv failure: Connection reset by peer
curl | curl: (7) Failed to connect to 127.0.0.1 port 8080 after 0 ms: Connection refused
curl | curl: (28) Operation timed out after 5001 milliseconds with 0 bytes received
curl | curl: (52) Empty reply from server
curl | curl: (6) Could not resolve host: notes.example
AWS | ThrottlingException: Rate exceeded
AWS | An error occurred (RequestLimitExceeded) when calling the DescribeInstances operation: Request limit exceeded.
AWS | An error occurred (TooManyRequestsException) when calling the Invoke operation (reached max retries: 4): Rate Exceeded.
AWS | com.amazonaws.SdkClientException: Unable to execute HTTP request: Connect to s3.example:443 failed: connect timed out
Google | googleapiclient.errors.HttpError: <HttpError 429 when requesting https://sheets.example/v4 returned "Quota exceeded for quota metric 'Read requests' and limit 'Read requests per minute per user'">
Google | 503 The service is currently unavailable.
gRPC | rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:50051: connect: connection refused"
gRPC | rpc error: code = DeadlineExceeded desc = context deadline exceeded
gRPC | io.grpc.StatusRuntimeException: UNAVAILABLE: upstream connect error or disconnect/reset before headers
Envoy | upstream request timeout
Envoy | no healthy upstream
nginx | upstream timed out (110: Connection timed out) while reading response header from upstream
Cloudflare | error code: 522
Cloudflare | Error 1015: You are being rate limited
OpenAI | That model is currently overloaded with other requests. You can retry your request.
Slack | slack_sdk.errors.SlackApiError: The request to the Slack API failed. {'ok': False, 'error': 'ratelimited'}
Discord | You are being rate limited. Retry after 0.35 seconds.
Telegram | Too Many Requests: retry after 14
Twilio | HTTP 429 error: Unable to fetch record: Too Many Requests
Salesforce | REQUEST_LIMIT_EXCEEDED: TotalRequests Limit exceeded.
Salesforce | UNABLE_TO_LOCK_ROW: unable to obtain exclusive access to this record
Shopify | Exceeded 2 calls per second for api client. Reduce request rates to resume uninterrupted service.
Airtable | RATE_LIMIT_REACHED: Rate limit exceeded. Please try again later
Selenium | selenium.common.exceptions.TimeoutException: Message: timeout: Timed out receiving message from renderer: 300.000
Playwright | page.goto: Timeout 30000ms exceeded.
Playwright | page.goto: net::ERR_CONNECTION_REFUSED at http://127.0.0.1:3000/
Puppeteer | ProtocolError: Protocol error (Page.navigate): Target closed.
Puppeteer | net::ERR_INTERNET_DISCONNECTED
.NET | System.TimeoutException: The operation has timed out.
.NET | System.Net.Http.HttpRequestException: Connection refused (127.0.0.1:8080)
.NET | System.Threading.Tasks.TaskCanceledException: The request was canceled due to the configured HttpClient.Timeout of 100 seconds elapsing.
.NET | System.Net.Sockets.SocketException (10060): A connection attempt failed because the connected party did not properly respond after a period of time
Ruby | Net::ReadTimeout with #<TCPSocket:(closed)>
Ruby | Faraday::ConnectionFailed: Failed to open TCP connection to 127.0.0.1:9200 (Connection refused - connect(2))
PHP | SQLSTATE[HY000] [2002] Connection refused
PHP | cURL error 28: Operation timed out after 10001 milliseconds with 0 bytes received
Windows | No connection could be made because the target machine actively refused it. (os error 10061)
Windows | The process cannot access the file because it is being used by another process. (os error 32)
MCP TypeScript | MCP error -32001: Request timed out
MCP TypeScript | MCP error -32000: Connection closed
Python | asyncio.exceptions.TimeoutError
Python | BlockingIOError: [Errno 11] Resource temporarily unavailable
Node | Error: socket hang up
Node | TypeError: fetch failed
Node | read ECONNRESET
Node | getaddrinfo EAI_AGAIN notes.example
Node | connect ETIMEDOUT 10.0.0.5:443
Node | Client network socket disconnected before secure TLS connection was established
a person | The service is under maintenance, come back in ten minutes
a person | Server is busy, please try again later
a person | Index is still being built
a person | Too many open requests; slow down
a person | upstream temporarily unavailable
a person | The backend did not respond in time
a person | Daily quota used up, resets at midnight
a person | Network is unreachable
a person | Another sync is in progress
a person | The workspace is waking up, retry shortly
a person | Lost the connection to the browser
a person | 503 Service Unavailable
a person | 503 Server Error
a person | 504 Gateway Timeout
a person | HTTP 502: Bad Gateway
a person | {"error": {"type": "rate_limit_exceeded", "message": "Slow down"}}
a person | {"error": "temporarily_unavailable", "retry_after": 30}
a person | {"statusCode": 429, "message": "Hold on"}
"""

WHO_ARE_YOU = """
PostgreSQL | FATAL:  no pg_hba.conf entry for host "10.0.0.7", user "ana", database "notes", no encryption
PostgreSQL | fe_sendauth: no password supplied
MySQL | Access denied for user 'ana'@'localhost' (using password: YES)
Redis | WRONGPASS invalid username-password pair or user is disabled.
MongoDB | MongoServerError: Authentication failed.
MongoDB | bad auth : authentication failed
SQL Server | Login failed for user 'sa'.
Oracle | ORA-01017: invalid username/password; logon denied
Snowflake | 250001 (08001): Failed to connect to DB: Incorrect username or password was specified.
kubectl | error: You must be logged in to the server (Unauthorized)
gh | To get started with GitHub CLI, please run:  gh auth login
gh | gh: Bad credentials (HTTP 401)
git | fatal: Authentication failed for 'https://git.example/ana/notes.git/'
git | fatal: could not read Username for 'https://git.example': terminal prompts disabled
git | git@git.example: Permission denied (publickey).
aws | Unable to locate credentials. You can configure credentials by running "aws configure".
aws | An error occurred (ExpiredToken) when calling the GetCallerIdentity operation: The security token included in the request is expired
aws | An error occurred (InvalidClientTokenId) when calling the GetCallerIdentity operation: The security token included in the request is invalid.
aws | The SSO session associated with this profile has expired or is otherwise invalid. To refresh this SSO session run aws sso login with the corresponding profile.
aws | botocore.exceptions.NoCredentialsError: Unable to locate credentials
aws | CredentialsProviderError: Could not load credentials from any providers
gcloud | ERROR: (gcloud.projects.list) You do not currently have an active account selected.
Google | google.auth.exceptions.DefaultCredentialsError: Your default credentials were not found.
Google | Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.
Google | {"error": {"code": 401, "message": "API keys are not supported by this API.", "status": "UNAUTHENTICATED"}}
az | Please run 'az login' to setup account.
Azure | AADSTS700082: The refresh token has expired due to inactivity.
Azure | DefaultAzureCredential failed to retrieve a token from the included credentials.
Azure | ClientAuthenticationError: (InvalidAuthenticationToken) Access token has expired or is not yet valid.
Docker | Error response from daemon: Get "https://registry.example/v2/": unauthorized: authentication required
npm | npm ERR! code E401 Incorrect or missing password.
npm | npm ERR! need auth This command requires you to be logged in.
Stripe | stripe.error.AuthenticationError: No API key provided. (HINT: set your API key)
OpenAI | The api_key client option must be set either by passing api_key to the client or by setting the OPENAI_API_KEY environment variable
Slack | An API error occurred: invalid_auth
Slack | An API error occurred: account_inactive
Linear | Authentication required, not authenticated
Jira | Client must be authenticated to access this resource.
Notion | APIResponseError: API token is invalid.
Salesforce | INVALID_SESSION_ID: Session expired or invalid
Salesforce | INVALID_LOGIN: Invalid username, password, security token; or user locked out.
Twilio | HTTP 401 error: Unable to fetch record: Authenticate
Vault | missing client token
gRPC | rpc error: code = Unauthenticated desc = transport: per-RPC creds failed
Laravel | Illuminate\\Auth\\AuthenticationException: Unauthenticated.
Django | {"detail": "Authentication credentials were not provided."}
Django | {"detail":"Invalid token."}
Spring | Full authentication is required to access this resource
ASP.NET | {"title":"Unauthorized","status":401,"traceId":"00-ab"}
.NET | System.Security.Authentication.AuthenticationException: The remote server rejected the client credentials.
ssh | paramiko.ssh_exception.AuthenticationException: Authentication failed.
IMAP | imaplib.IMAP4.error: [AUTHENTICATIONFAILED] Invalid credentials (Failure)
SMTP | smtplib.SMTPAuthenticationError: (535, b'5.7.8 Username and Password not accepted.')
LDAP | ldap.INVALID_CREDENTIALS: {'desc': 'Invalid credentials'}
OAuth | {"error":"invalid_token","error_description":"The access token expired"}
OAuth | invalid_grant: Bad Request
MCP | Error: No access token configured
a person | Not logged in
a person | Please log in first
a person | You need to sign in to see this
a person | Your session has expired
a person | Session timed out, please log in again
a person | Wrong password
a person | API key is missing
a person | Missing Authorization header
a person | Token expired at 2026-11-19T10:00:00Z
a person | The refresh token was revoked
a person | No credentials found; run `notes login`
a person | Invalid or expired access token
a person | Your API key has been disabled
a person | Authentication token could not be verified
a person | jwt expired
a person | Signature verification failed
a person | Unauthorized
a person | User is not authenticated
a person | Anonymous access is disabled
a person | Two-factor authentication required
a person | Could not authenticate you
a person | {"error": "unauthenticated"}
a person | {"code": "AUTH_REQUIRED", "message": "Who are you?"}
a person | 401 Unauthorized
"""

NOT_ALLOWED = """
PostgreSQL | ERROR:  permission denied for schema private
PostgreSQL | ERROR:  must be owner of table notes
PostgreSQL | ERROR:  new row violates row-level security policy for table "notes"
MySQL | (1142, "SELECT command denied to user 'guest'@'localhost' for table 'notes'")
MySQL | ERROR 1044 (42000): Access denied for user 'guest'@'localhost' to database 'app'
MySQL | (1227, 'Access denied; you need (at least one of) the SUPER privilege(s) for this operation')
MongoDB | not authorized on admin to execute command { listDatabases: 1 }
SQL Server | The SELECT permission was denied on the object 'notes', database 'app', schema 'dbo'.
Oracle | ORA-01031: insufficient privileges
Snowflake | SQL access control error: Insufficient privileges to operate on schema 'PRIVATE'
Cassandra | Unauthorized: Error from server: code=2100 [Unauthorized] message="User guest has no SELECT permission on <table app.notes>"
kubectl | Error from server (Forbidden): secrets is forbidden: User "ana" cannot list resource "secrets" in API group "" in the namespace "default"
gh | gh: Resource not accessible by integration (HTTP 403)
gh | GraphQL: Your token has not been granted the required scopes to execute this query.
git | remote: Permission to ana/notes.git denied to eve.
aws | An error occurred (AccessDenied) when calling the GetObject operation: Access Denied
aws | An error occurred (UnauthorizedOperation) when calling the DescribeInstances operation: You are not authorized to perform this operation.
aws | An error occurred (AccessDeniedException) when calling the GetSecretValue operation: User: arn:aws:iam::123456789012:user/ana is not authorized to perform: secretsmanager:GetSecretValue
aws | KMS.AccessDeniedException: The ciphertext refers to a customer master key that does not exist, does not exist in this region, or you are not allowed to access.
Google | The caller does not have permission
Google | Request had insufficient authentication scopes.
Google | The user does not have sufficient permissions for file 1AbC.
Google | Access Not Configured. Drive API has not been used in project 12 before or it is disabled.
Google | Permission 'resourcemanager.projects.get' denied on resource '//cloudresourcemanager.example/projects/p' (or it may not exist).
Azure | AuthorizationFailed: The client 'ana' with object id '1' does not have authorization to perform action 'Microsoft.Web/sites/read' over scope '/subscriptions/1'.
Azure | Forbidden: Caller is not authorized to perform action on resource.
Docker | Got permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock
Docker | denied: requested access to the resource is denied
npm | npm ERR! 403 Forbidden - You do not have permission to publish "notes".
Slack | An API error occurred: not_in_channel
Slack | An API error occurred: restricted_action
Slack | An API error occurred: missing_scope
Discord | DiscordAPIError[50013]: Missing Permissions
Discord | DiscordAPIError[50001]: Missing Access
Telegram | Forbidden: bot was blocked by the user
Notion | Insufficient permissions for this endpoint.
Jira | You do not have the permission to see the specified issue.
Confluence | Current user not permitted to use Confluence
Salesforce | INSUFFICIENT_ACCESS_OR_READONLY: insufficient access rights on object id
Linear | You don't have access to this team
gRPC | rpc error: code = PermissionDenied desc = caller lacks notes.read
Vault | Error making API request. Code: 403. Errors: * permission denied
Django | {"detail":"You do not have permission to perform this action."}
Laravel | This action is unauthorized.
Spring | org.springframework.security.access.AccessDeniedException: Access is denied
.NET | System.UnauthorizedAccessException: Access to the path '/srv/notes/secret.md' is denied.
Windows | Access is denied. (os error 5)
Ruby | Errno::EACCES: Permission denied @ rb_sysopen - /srv/notes/secret.md
PHP | fopen(/srv/notes/secret.md): Failed to open stream: Permission denied
Deno | NotCapable: Requires read access to "/srv/notes", run again with the --allow-read flag
MCP filesystem | Access denied - path outside allowed directories: /etc/passwd not in /srv/notes
MCP git | Error: Repository path is outside the allowed repository
Elasticsearch | action [indices:admin/create] is unauthorized for user [guest] with roles [reader]
Kafka | TopicAuthorizationException: Not authorized to access topics: [notes]
a person | requires admin privileges
a person | Requires the role `editor`
a person | Only the owner can open this
a person | You are not allowed to read this note
a person | This page is private
a person | Members only
a person | Your plan does not include this feature
a person | Insufficient rights
a person | Blocked by policy
a person | This tool is disabled by your administrator
a person | Operation not permitted
a person | You must be an administrator to view audit logs
a person | Access to this project is restricted
a person | You lack permission to view this board
a person | User ana has no read access
a person | Access has not been granted
a person | Reading outside of the workspace is prohibited
a person | {"error": "insufficient_permissions"}
a person | {"code": "ACCESS_DENIED", "message": "Ask the owner"}
a person | {"message": "Forbidden"}
a person | 403 Forbidden
"""

BAD_ARGUMENT = """
a person | timeout must be a positive integer
a person | limit must be between 1 and 100
a person | Invalid date: 2026-13-45
a person | `page` is required
a person | Missing required parameter: id
a person | Unknown parameter "colour"
a person | The rate limit must be a number
a person | id should be a UUID
a person | Expected a number, got "abc"
a person | Value is too long (maximum is 255 characters)
a person | Unsupported format: docx
a person | name cannot be empty
a person | Bad query syntax near 'AND'
a person | The sort order must be one of asc, desc
a person | start must come before end
a person | Invalid regular expression
a person | offset out of range
a person | permission must be one of read, write
a person | Invalid email address
a person | Not a valid URL
a person | Wrong number of arguments
a person | 'soon' is not a valid date
a person | The query parameter is malformed
a person | No value given for `topic`
a person | Too many arguments
a person | connection_timeout: must not be negative
a person | Either `id` or `name` must be given
a person | Please provide a title
a person | token_limit expects an integer
a person | {"error": "invalid_request", "message": "cursor is malformed"}
a person | {"errors": [{"field": "title", "message": "can't be blank"}]}
a person | HTTP 422: Unprocessable Entity
MCP TypeScript | MCP error -32602: Input validation error: Invalid arguments for tool read_note: [{"code": "invalid_type", "expected": "number", "received": "string", "path": ["page"], "message": "Expected number, received string"}]
MCP TypeScript | MCP error -32602: Invalid params
MCP Python | 1 validation error for call[read_note]\\npage\\n  Input should be a valid integer, unable to parse string as an integer [type=int_parsing, input_value='x', input_type=str]
MCP Python | read_note() missing 1 required positional argument: 'page'
MCP Python | read_note() got an unexpected keyword argument 'pag'
JSON Schema | data/page must be integer
JSON Schema | data must have required property 'page'
JSON Schema | data must NOT have additional properties
JSON Schema | instance.page is not of a type(s) integer
Joi | "page" must be larger than or equal to 1
yup | page must be a `number` type, but the final value was: `NaN` (cast from the value `"x"`).
Rails | Validation failed: Title can't be blank
Rails | ActionController::ParameterMissing: param is missing or the value is empty: note
Laravel | The given data was invalid.
Django | {"page":["A valid integer is required."]}
Spring | Required request parameter 'page' for method parameter type int is not present
Spring | Failed to convert value of type 'java.lang.String' to required type 'int'
.NET | System.ArgumentOutOfRangeException: Specified argument was out of the range of valid values. (Parameter 'page')
.NET | System.ArgumentNullException: Value cannot be null. (Parameter 'path')
.NET | System.FormatException: Input string was not in a correct format.
Go | strconv.ParseInt: parsing "x": invalid syntax
Rust | invalid digit found in string
clap | error: invalid value 'x' for '--page <PAGE>': invalid digit found in string
argparse | error: argument --page: invalid int value: 'x'
curl | curl: (3) URL using bad/illegal format or missing URL
PostgreSQL | ERROR:  invalid input syntax for type uuid: "x"
PostgreSQL | ERROR:  value too long for type character varying(5)
PostgreSQL | ERROR:  date/time field value out of range: "2026-13-45"
MySQL | (1366, "Incorrect integer value: 'abc' for column 'id' at row 1")
MySQL | (1406, "Data too long for column 'text' at row 1")
MongoDB | Argument passed in must be a string of 12 bytes or a string of 24 hex characters or an integer
Elasticsearch | parse_exception: Failed to parse query [a AND]
AWS | An error occurred (ValidationException) when calling the Query operation: ExpressionAttributeValues must not be empty
AWS | ParamValidationError: Parameter validation failed: Invalid type for parameter Key, value: 17
AWS | An error occurred (InvalidParameterValue) when calling the DescribeInstances operation: Invalid id: "i-x"
Google | Invalid value for field 'pageSize': 'many'.
Google | Unable to parse range: Sheet9!A1
GitHub | Validation Failed: {"resource":"Search","field":"q","code":"missing"}
gRPC | rpc error: code = InvalidArgument desc = page_size must be positive
GraphQL | Variable "$id" of required type "ID!" was not provided.
GraphQL | Cannot query field "colour" on type "Note".
Slack | An API error occurred: invalid_cursor
Notion | body failed validation: body.page_size should be ≤ `100`, instead was `500`.
Jira | The value 'x' does not exist for the field 'project'.
JQL | Error in the JQL Query: Expecting operator but got 'foo'.
"""

OWN_FAULT = """
a person | Internal server error
a person | An internal error occurred
a person | Something went wrong on our side: unhandled exception
a person | Internal error: index corrupted
a person | The server is misconfigured: NOTES_DIR is not set
a person | Configuration file notes.toml is invalid
a person | BUG: unreachable code
a person | Not implemented
a person | Required environment variable DATABASE_URL is missing
a person | Disk full
a person | Schema version 4 is newer than this program
a person | Failed to load plugin: missing symbol
a person | The index is corrupt, rebuild it
a person | assertion failed: left == right
a person | 500 Internal Server Error
a person | {"error": "internal_error"}
a person | {"status": 500, "message": "Oops"}
PostgreSQL | ERROR:  relation "nots" does not exist
PostgreSQL | ERROR:  could not extend file "base/1/2": No space left on device
PostgreSQL | FATAL:  database "nothere" does not exist
MySQL | (1049, "Unknown database 'nothere'")
MySQL | (1054, "Unknown column 'owner' in 'field list'")
MySQL | (1146, "Table 'app.nots' doesn't exist")
SQLite | sqlite3.OperationalError: no such table: notes
SQLite | sqlite3.DatabaseError: database disk image is malformed
SQLite | SqliteError: SQLITE_CANTOPEN: unable to open database file
SQLite | no such column: owner
SQLite | SQLITE_CORRUPT: database disk image is malformed
SQLite | database or disk is full
Redis | MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.
Redis | OOM command not allowed when used memory > 'maxmemory'.
MongoDB | MongoServerError: unknown operator: $foo
Python | ModuleNotFoundError: No module named 'pandas'
Python | AttributeError: 'NoneType' object has no attribute 'get'
Python | NameError: name 'notes' is not defined
Python | ImportError: libGL.so.1: cannot open shared object file: No such file or directory
Python | RecursionError: maximum recursion depth exceeded
Python | UnboundLocalError: cannot access local variable 'note' where it is not associated with a value
Python | IndexError: list index out of range
Python | NotImplementedError
Python | MemoryError
Python | UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte
Python | TypeError: 'NoneType' object is not subscriptable
Python | RuntimeError: Event loop is closed
Node | TypeError: Cannot read properties of undefined (reading 'id')
Node | ReferenceError: notes is not defined
Node | Error: Cannot find module 'lodash'
Node | RangeError: Maximum call stack size exceeded
Node | SyntaxError: Unexpected token '<', "<!DOCTYPE "... is not valid JSON
Node | notes.map is not a function
Node | JavaScript heap out of memory
Node | Error: spawn git ENOENT
Node | self-signed certificate in certificate chain
Node | unable to verify the first certificate
Go | runtime error: invalid memory address or nil pointer dereference
Go | x509: certificate signed by unknown authority
Go | exec: "pandoc": executable file not found in $PATH
Go | json: cannot unmarshal object into Go value of type []main.Note
Rust | called `Option::unwrap()` on a `None` value
Rust | thread 'main' panicked at src/main.rs:17:5: index out of bounds: the len is 0 but the index is 3
Java | java.lang.NullPointerException: Cannot invoke "String.length()" because "name" is null
Java | java.lang.ClassNotFoundException: org.example.Driver
Java | java.lang.OutOfMemoryError: Java heap space
Java | java.lang.NoClassDefFoundError: org/example/Notes
Java | javax.net.ssl.SSLHandshakeException: PKIX path building failed: unable to find valid certification path to requested target
.NET | System.NullReferenceException: Object reference not set to an instance of an object.
.NET | System.InvalidOperationException: Sequence contains no elements
.NET | System.NotImplementedException: The method or operation is not implemented.
Ruby | NoMethodError: undefined method `name' for nil:NilClass
Ruby | LoadError: cannot load such file -- nokogiri
PHP | Fatal error: Uncaught Error: Call to undefined function notes()
PHP | Class "App\\Notes" not found
shell | sh: 1: pandoc: not found
shell | bash: jq: command not found
shell | /usr/bin/env: 'node': No such file or directory
Linux | error while loading shared libraries: libssl.so.1.1: cannot open shared object file: No such file or directory
Linux | Out of memory: Killed process 17 (notes)
curl | curl: (60) SSL certificate problem: unable to get local issuer certificate
gRPC | rpc error: code = Internal desc = runtime error: slice bounds out of range
gRPC | rpc error: code = Unimplemented desc = unknown method Get for service notes.Notes
MCP | MCP error -32601: Method not found
MCP Python | Internal error: name 'store' is not defined
MCP Python | Error executing tool read_note: 'str' object has no attribute 'id'
Playwright | browserType.launch: Executable doesn't exist at /srv/app/chromium/chrome
Django | django.core.exceptions.ImproperlyConfigured: The SECRET_KEY setting must not be empty.
Django | django.db.utils.ProgrammingError: column notes.owner does not exist
Prisma | The table `public.Note` does not exist in the current database.
Kubernetes | Back-off restarting failed container
AWS | An error occurred (InternalFailure) when calling the Query operation: The request processing has failed because of an unknown error
OpenAI | The server had an error while processing your request. Sorry about that!
"""

rows = Rows("composed")
for label, texts in [("absent", ABSENT), ("passing", PASSING), ("who-are-you", WHO_ARE_YOU),
                     ("not-allowed", NOT_ALLOWED), ("bad-argument", BAD_ARGUMENT), ("own-fault", OWN_FAULT)]:
    for line in texts.strip().splitlines():
        by, said = line.split(" | ", 1)
        rows.add(label, by, said.replace("\\n", "\n").replace("\\\\", "\\"), composed=True)
rows.write()
