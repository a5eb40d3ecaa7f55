//! The table of words and of names: which say what of a failure.
//!
//! Within a table the first row that fits decides, so a row stands before those that are less
//! telling. The rows are written from how such texts look; `tests/corpus/failures` judges them.

use std::sync::LazyLock;

use regex::bytes::RegexSet;

/// What a text says of why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Absent,
    Passing,
    WhoAreYou,
    NotAllowed,
    BadArgument,
    OwnFault,
}

use Sign::{Absent, BadArgument, NotAllowed, OwnFault, Passing, WhoAreYou};

/// Rows of patterns, compiled into one set.
pub(super) struct Table {
    set: RegexSet,
    signs: Vec<Sign>,
}

impl Table {
    fn of(rows: &[(Sign, &[&str])]) -> Table {
        let mut patterns = Vec::new();
        let mut signs = Vec::new();
        for (sign, row) in rows {
            for pattern in *row {
                patterns.push(format!("(?-u){pattern}"));
                signs.push(*sign);
            }
        }
        let set = RegexSet::new(patterns).expect("the patterns are constants that a test compiles");
        Table { set, signs }
    }

    /// What the first row that fits says.
    pub(super) fn sign_of(&self, text: &str) -> Option<Sign> {
        self.row_of(text).map(|(_, sign)| sign)
    }

    /// The first row that fits, and what it says.
    pub(super) fn row_of(&self, text: &str) -> Option<(usize, Sign)> {
        let row = self.set.matches(text.as_bytes()).iter().next()?;
        Some((row, self.signs[row]))
    }
}

/// Names of errors, as words: errno, exceptions, codes of services and of databases.
pub(super) static NAMES: LazyLock<Table> = LazyLock::new(|| Table::of(NAME_ROWS));
/// Names that decide where words say nothing.
pub(super) static WEAK_NAMES: LazyLock<Table> = LazyLock::new(|| Table::of(WEAK_NAME_ROWS));
/// Words.
pub(super) static WORDS: LazyLock<Table> = LazyLock::new(|| Table::of(WORD_ROWS));

const NAME_ROWS: &[(Sign, &[&str])] = &[
    (
        OwnFault,
        &[
            r"\b(module|class|method|function|command|driver|plugin|library|symbol|type|template does) not found",
            r"no such (method|field|element|function|module|column|table)|no class def|(unknown|undefined) (table|column|database|function|operator)",
            r"\b(ssl|tls|cert|certificate)\b|self signed|unable to (verify|get issuer)|handshake",
            r"null (pointer|reference)|undefined method|no method",
            r"out of memory|stack overflow|recursion|storage full|heap|disk full|no space",
            r"illegal state|class cast|unsupported operation",
            r"too many redirects|redirect",
        ],
    ),
    (
        Passing,
        &[
            r"^(econn(refused|reset|aborted)|e(socket)?timed?out|epipe|ehost(unreach|down)|enet(unreach|down|reset)|enotfound|eagain|ewouldblock|ebusy|eintr|edeadlk|etxtbsy|eai|enotconn|eaddrnotavail|ecanceled|eprotocol|esockettimedout)\b",
            r"^eai (again|noname|nodata|fail)|^und err|^err (network|connection|timed out|internet|name not resolved|address unreachable|socket|empty response|canceled|aborted)",
            r"throttl|too many requests|too many connections|slow ?down|rate ?limit",
            r"\b(rate|quota|requests?( limit| rate)?|throughput|bandwidth|concurren\w*|usage|operation|call|time|deadline|retry)( limit)? (exceeded|reached)",
            r"limit exceeded (exception|error)$",
            r"(service|server|temporarily|currently|resource|backend|host|node) unavailable|^unavailable$|unreachable",
            r"(server|service|resource|system) (is )?busy|\bbusy$",
            r"time(d )? ?out\b|deadline exceeded|resource exhausted",
            r"connection (ended|error|refused|reset|aborted|closed|failed|lost|broken|failure|timed|exception|termination|dropped)|(connect|read|write|pool|proxy|socket|network|transport) error$",
            r"new connection error|client connector|server disconnected|remote disconnected|remote protocol|incomplete read|broken pipe|disconnected|(connect|socket|network|transport|endpoint connection)( io)? (error|exception|failure)$",
            r"overload|deadlock|serialization failure|lock (wait|not available|timeout|acquisition)|unable to lock",
            r"transient|retryable|backend error|server selection|not (primary|master)|auto reconnect|try ?again|cluster ?down|interrupted|rejected execution|optimistic lock",
            r"unknown host|name resolution|gaierror|no route|host not found|all connections failed|too busy|request aborted|^aborted$|admin shutdown|cannot connect now|request cancell?ed|task cancell?ed",
            r"^busy|^loading$|conflict error|server busy",
        ],
    ),
    (
        NotAllowed,
        &[
            r"unauthorized (access|operation|exception)|not authorized|access denied|access (is )?(restricted|forbidden)|denied (access|exception)",
            r"permissions?\b|^(eacces|eperm|noperm)$|forbidden|insufficient (access|priv|scope|rights|funds)",
            r"not (allowed|permitted|capable|in channel)|authorization (failed|error|exception|denied|permission)|missing (scope|access|permission)|restricted|privilege|policy violation|row level security|security exception$",
        ],
    ),
    (
        WhoAreYou,
        &[
            r"unauthenticated|\bauthentication\b|\bunauthorized\b|not authed|not authenticated|not (logged|signed) in|^noauth$|^wrongpass$|login (required|failed|error|exception)|auth required|auth(entication)? (failed|error|denied|key)",
            r"no (api key|token|credentials?|password|auth)|(invalid|expired|missing|bad|unrecognized|incorrect|revoked|unknown)( \w+)?( \w+)? (credentials?|token|tokens|api key|access key( id)?|client( id| token id)?|password|session( id)?|grant|login|auth|signature|key)( error| exception)?$",
            r"(token|session|credentials?|signature|password|jwt|api key|grant)s? (\w+ )?(expired|invalid|missing|revoked|error|mismatch|does not match|not provided|required|provider error)",
            r"\b(credentials?|refresh|json web token|jwt|decode token|signature)( verification)? (error|exception|failed)|account inactive|client authentication",
            r"^aadsts",
        ],
    ),
    (
        Absent,
        &[
            r"^(esrch|enxio)$|not found|no such|does not exist|\bdoesnt exist|nonexist",
            r"resource missing|no results?( found| error)|record not|unknown (resource|topic|member|object|page|item|document|key)|\bgone$|key missing",
        ],
    ),
    (
        BadArgument,
        &[
            r"^(einval|erange|enametoolong|e2big|edom|ebadmsg|eisdir|enotdir)$",
            r"validation|bad request|illegal argument|argument (error|null|out|exception|required)|^err (invalid arg|out of range|missing args|invalid url|socket bad port)",
            r"param(eter)?s? (missing|unknown|invalid|validation|required|error)|missing (param|field|arg|required)|(invalid|unknown|illegal|unsupported|bad|missing) (arg|param|value|input|field|format|date|name|type|range|cursor|url|uri|scheme|schema|query|option|id|key|bucket|number|path|filter|syntax|text|literal|request (body|param|content))",
            r"out of range|malformed|number format|date ?time parse|format exception|unprocessable|(string|data|uri|entity|payload|context length|value|name|too)( right)? (too )?(long|large|exceeded|truncation)|invalid url|missing schema|unsupported protocol|schema (error|validation)|patternsyntax|pattern syntax|uri ?syntax|parse exception|parsing exception|unsupported charset|zod error|(not null|unique|foreign key|check) violation|(illegal|invalid) charset|date time exception|zone rules|constraint",
            r"^invalid (params?|arguments?|request)$",
        ],
    ),
    (
        OwnFault,
        &[
            r"internal( \w+)? (error|failure|exception)|^internal$|unimplemented|not implemented|name error|attribute error|reference error|import error|unbound local|zero division|assertion|index (error|out)|arithmetic|improperly configured|config(uration|uration file)? (error|exception|invalid|missing)|array index|array store|negative array",
            r"^(enospc|edquot|emfile|enfile|eio|enomem|erofs|enosys|elibbad|enotsup|enotempty|elooperr|eloop|eaddrinuse)$|memory error|data loss|corrupt|json ?decode|not supported|unsupported (media|operation)|no region|incomplete body|bad status line|misconf|^oom$|server error|sqlite (corrupt|cantopen|full|notadb|ioerr)|content type error|called process error|no such element|unicode",
        ],
    ),
];

const WEAK_NAME_ROWS: &[(Sign, &[&str])] = &[
    (OwnFault, &[r"invalid (operation|state|cast)"]),
    (Passing, &[r"max retry error|protocol error"]),
    (
        BadArgument,
        &[
            r"^value error$|data error|integrity error|range error|invalid request|unsupported|^(uri|url) error|number error|^invalid|too long|conversion",
        ],
    ),
    (Absent, &[r"^lookup error$"]),
    (
        OwnFault,
        &[
            r"type error|key error|syntax error|programming error|decode|runtime exception|eval error|binder|catalog|illegal|class|io error",
        ],
    ),
];

const WORD_ROWS: &[(Sign, &[&str])] = &[
    // Numbers of databases, which stand before everything else.
    (
        Passing,
        &[
            r"\(?\b(1040|1203|1205|1213|2002|2003|2006|2013|2055|4031)\b(, | \(|\) )|sqlstate ?[\[(:]? ?(08|40|53[23]|57)|\bora-(00054|12170|12541|12514|12537|03113|03135|00060|01033)|sqlstate\[hy000\] \[200[0-9]\]",
        ],
    ),
    (
        WhoAreYou,
        &[
            r"(error |\()(1045|1698|1862)\b|sqlstate ?[\[(:]? ?28|\bora-(01017|28000|28001)|\baadsts[0-9]+",
        ],
    ),
    (
        NotAllowed,
        &[
            r"(error |\()(1044|1142|1143|1227|1370|1410)\b|sqlstate ?[\[(:]? ?42501|\bora-(01031|01720)",
        ],
    ),
    (
        OwnFault,
        &[
            r"(error |\()(1049|1054|1146|1305|1114|1030)\b|sqlstate ?[\[(:]? ?(42p01|42703|42883|3d000|xx)|\bora-(00942|00904|00600)",
        ],
    ),
    (
        BadArgument,
        &[r"(error |\()(1048|1062|1264|1292|1366|1406|1451|1452)\b|sqlstate ?[\[(:]? ?(22|23)"],
    ),
    (
        WhoAreYou,
        &[r"\w+_(token|api_?key|secret|password|credentials?|pat)\b (is |was |has )?(not|unset|missing)"],
    ),
    (BadArgument, &[r"value \x01 is not allowed"]),
    // Programs that are wrong, in words that are used for nothing else.
    (
        OwnFault,
        &[
            r"eof while parsing|unexpected (token|end of (json|input|data|file)|non-whitespace)|(is not|isn't|not) valid json|in json at|expecting value: line|invalid character .{1,6} looking for|jsondecodeerror|unterminated string in json|expected value at line|malformed (json|response|http)|(parsing|parse|decoding|decode|deserializ\w+) (the )?(response|body|json)|invalid json response|response (body|json)",
            r"cannot read propert|is not a function|is not (defined|iterable|subscriptable|callable)|undefined is not|null is not an object|has no attribute|no attribute|object reference not set|nil pointer|null ?pointer|invalid memory address|because .{1,20} is null|undefined (method|function|variable|local)|call to undefined|call stack|stack overflow|recursion depth|cannot access .{1,20} before init|before initialization|not associated with a value|assignment to constant|assignment to entry in nil|unwrap\(\)|panicked|^panic|\bpanic:|index out of (bounds|range)|out of bounds|list index|slice bounds|division by zero|divide by zero|interface conversion|unhandled (exception|rejection|error)|uncaught|assertion|unreachable code|\bbug\b|nonetype|unsupported operand|can only concatenate|positional arguments? but|cannot unpack|indices must be|not json serializable|changed size during|attempt to (index|call|perform)|expected str, bytes|\bgoroutine\b|referenced before|not enough values|too many values|can't decode byte|invalid start byte|invalid utf-8|event loop|incompatible receiver|cannot be cast|method .{0,60}not implemented|no value present|no enclosing",
            r"no module named|cannot find module|module .{0,40}(not found|does not exist)|cannot find package|cannot import name|cannot open shared object|could not load|cannot load such file|failed to load|\bclass .{0,30}not found|command not found|executable.{0,40}(not found|doesn't exist|does not exist)|spawn .{1,60} enoent|no such program|cannot run program|missing symbol|\x02:? [^.]{0,20}(invalid|error|malformed|missing)|\w+_\w+ (is |was )?(not set|unset|not defined)\b|undefined symbol|symbol not found|^([a-z/]*sh|line \d+|\d+): .{0,40}not found|(unknown|no suitable) (driver|module|plugin|dialect)|env: .{0,30}no such file|program .{0,30}not found|(binary|library|plugin|driver|extension) .{0,30}(not found|missing|could not)",
            r"\b(ssl|tls)\b[^.]{0,30}(error|certificate|verif|alert|routines|wrong|problem|handshake|record)|x509|pkix|certificate|self.signed|wrong version number|handshake|record layer|plaintext connection|first certificate|issuer cert|gave http response to https|looks like a tls|server gave http|not look like a tls",
            r"(not|isn't|is not) (implemented|supported yet)|unimplemented|unknown (method|service|operator|command)|method not found|no such method",
            r"(no|out of) (storage |disk |free )?space|disk (is )?full|storage (is )?full|database or disk|out of memory|heap (space|out)|cannot allocate memory|memory limit|used memory|too many open files|file table overflow|input/output error|i/o error|quota exceeded on disk|disk quota|read-only file system|function not implemented|unable to persist|disk image|is corrupt|corrupted|corrupt\b|malformed database|file is not a database|unable to open database|could not extend file",
            r"(too many|exceeded( maximum)?( number of)?|maximum|stopped after .{1,5}) redirect|redirect (loop|limit|count)|exceeded \d+ redirects|redirected too many|\binfinite loop",
            r"(line too long|bad status line|badstatusline|bad http|invalid http|malformed http|http/0\.9|expected http|parse error: expected|invalid status line|invalid version|unable to parse http|http version parsed|invalid header|transport: malformed|illegal request line|non-http|response does not match|not an http|http parser|message incomplete in header|unknown scheme in response|stream error|illegal http|protocol violation)",
        ],
    ),
    (BadArgument, &[r"^(error: )?\d+ validation errors?|validation error"]),
    // Networks and queues, likewise.
    (
        WhoAreYou,
        &[
            r"session[^.]{0,30}(expired|timed out|timeout|invalid|not valid|revoked)|(log|sign)[ -]?in again|re-?authenticate|reauthoriz",
        ],
    ),
    (
        Passing,
        &[
            r"connection[^.]{0,40}(refused|reset|aborted|closed|lost|dropped|terminated|timed out|failed|failure|broken|interrupted|rejected|not available|unexpectedly|was shut)|(lost|dropped|closed|refused|terminated|terminating|broken) (the )?connection|(socket|stream|target|channel|other side|browser|session)( has been| was| is| has)? (hang|hung|closed|disconnected|ended)|hang up|hung up|broken pipe|(refused|reset) (it|by peer|the connection)|actively refused|unexpected eof|\beof\b( |$|,|\)|\])|eof occurred|unexpectedly closed|closed (the connection|without|unexpectedly|before)|remote end closed|empty reply|no bytes|premature|ended prematurely|incomplete (message|read)|peer closed|network (error|is unreachable|is down|socket)|server disconnected|client network socket|transport (failure|error|endpoint)|header parser received no bytes|before (secure|message|response|headers) ?(tls|completed|was)?",
            r"no route to host|(host|network|server|destination|address|service|endpoint|node|broker|peer)( is| was| are|)? (down|unreachable|not reachable|unavailable|not available)|unreachable|cannot (reach|connect)|can't (reach|connect)|(could|couldn't|unable|failed|cannot)[^.]{0,12}(to )?(reach|connect)\b|connect(ing)? (error|attempt|call|to [^ ]+)?.{0,20}fail|failed to (connect|establish)|connect(ion)? (refused|attempt)|dial(ing)? (tcp|error)|all connection attempts|error trying to connect|error sending request|connection error|no healthy upstream|disconnect/reset",
            r"no such host|unknown host|name (or service )?(not known|does not resolve|resolution)|name_not_resolved|(could|couldn't|cannot|can't|unable|failed|failure)[^.]{0,10}(to )?(resolve|lookup|look up)[^.]{0,30}(host|name|address|dns|$)|could not resolve( |:)?( ?proxy|host|\x01|$)|getaddrinfo|nodename nor|temporary failure in name|no address associated|dns (error|failure|lookup|resolution)|resolve host|failed to lookup address|host (was )?not found|unresolvedaddress|(unable to find|cannot find) the server at",
            r"timed[ -]?out|time[ -]?out (of|on|for|in|to|from|connecting|reading|\d+ ?m?s|exceeded|expired|reached|occurred|period|elapsed|after|error|was|while|waiting)\b|(request|connect|connection|read|write|socket|gateway|statement|query|lock|header|headers|body|response|network|operation|execution|upstream|navigation|navigation|handshake|idle|global|pool|i/o|wait|command|server|invocation|task) time-?out( error|\.|:|$|,|;|\)| \()|deadline|(did not|didn't|does not|failed to|not) (respond|answer|reply|properly respond|complete)|deadline has elapsed|within the allotted|took too long|(due|aborted|cancell?ed)[^.]{0,20}time-?out|client_timeout|try increasing.*timeout",
            r"(max|maximum) (number of )?(clients|connections|concurrent|requests|sessions)|too many (requests|connections|clients|calls|concurrent|login|attempts|open requests|queries|people|simultaneous|users|tries|operations)|(rate|quota|throughput|request|api|requests|usage)[ -]?(limit|rate|quota)?s?( has been| was| is|) (exceeded|reached|hit)|rate.?limit(ed|ing)?( |,|\.|:|;|\)|$)(exceeded|reached|hit|error|for|on|\.|$)|(exceed(ed|s|ing)?|hit|reached|over)[^.]{0,40}(rate|quota|throughput|requests|calls per|throttl|limit of)|rate limited|being rate|secondary rate|throttl|slow down|reduce (your |the )?(request|rate)|retry.after|retry later|retry shortly|(requests|calls|queries) per (second|minute|hour|day)|quota (exceeded|exhausted|used|reached)|resource exhausted|exhausted|backoff|back off|request limit",
            r"temporar(il)?y|momentarily|service (is )?(currently )?unavailable|(currently|is|was|are) (unavailable|unable|overloaded|busy|not available|down|offline|starting|initiali[sz]ing|loading|restarting|shutting|draining|warming|waking)|overload|unavailable|over ?capacity|at capacity|maintenance|starting up|shutting down|is loading|loading the|in progress|still (being|starting|loading|running|indexing|connecting|syncing|building|processing)|being (built|indexed|rebuilt|restarted|updated|migrated|processed|deployed)|waking up|warming up|come back|not ready|is (server )?busy|busy\b|is sealed|no leader|leader election|elect(ing|ion)|not (primary|master)|gone away|clusterdown|rehashing|failover|node is",
            r"(database|table|file|resource|row|record|index|repository|document|state|object)[^.]{0,20}( is| was|) locked|\blocked by|lock(ed)? (wait|timeout|not available|held)|could not (obtain|acquire) (a |the )?lock|obtain exclusive|being used by another|used by another process|deadlock|serialize access|serialization|concurrent (update|modification|transaction)|restarting transaction|could not be completed due to|too much contention|contention|connection slots|slots are reserved|conflict occurred|transaction conflict|another (sync|process|operation|request|instance|transaction|update) is|killed on|due to administrator|server shutdown|query was killed|not writable primary|not enough replicas",
            r"fetch failed|failed to fetch|load failed|network request failed|err_(connection|internet|network|name|timed|empty|address)|socket (error|exception)|buffer space|max retries|retries exceeded|max retry|reached the max|operation (was )?(aborted|cancell?ed)|request (was )?(aborted|cancell?ed)|stream (was )?(aborted|reset)|\baborted\b|\binterrupted\b|resource temporarily|not yet (ready|available)|bad gateway|gateway time|service unavailable|server unavailable|backend error|upstream (connect|error|request|server)|offline",
        ],
    ),
    // Who are you.
    (
        NotAllowed,
        &[
            r"\bscopes?\b[^.]{0,30}(required|missing|insufficient|granted|not)|(required|missing|insufficient|lacks?|without)[^.]{0,30}\bscopes?\b",
        ],
    ),
    (
        WhoAreYou,
        &[
            r"\w+_(token|api_?key|secret|password|credentials?|pat|access_key\w*)\b[^.]{0,40}(not set|missing|required|not configured|not defined|unset|empty|not provided)|(missing|no|set|provide|export) (the |a |your )?\w+_(token|api_?key|secret|password|credentials?|pat)\b|authorization header|www-authenticate|logged out|did not authenticate|client certificate (is )?required|publickey|not (logged|signed) in|(log|sign|logged|signed)[ -]?in (first|to|required|is required|before)|(please|must|need to|have to|has to|run).{0,25}\b(log ?in|login|sign ?in|authenticate|logged in|signed in|authenticated|auth login)\b|login (required|is required|failed|needed|again)|logon (denied|failed)|(log|sign)[ -]?in failed",
            r"un-?authenticated|not (been |be )?authenticated|authentication[^.]{0,30}(required|failed|error|needed|invalid|expired|missing|not|credentials|is)|(requires?|missing|no|need|needs|without|lack\w*|invalid) (valid |proper )?(full )?(authentication|authorization (header|token)|auth\b|login|credentials)|(failed|unable|could not|couldn't|cannot|can't) (to )?(be )?(authenticate|be authenticated|log ?in|sign ?in|be verified)|\bauthenticate (the|you|user|with|$)|authenticate$|failed to authenticate|anonymous (access|caller|user|credentials)|who are you|auth(entication)? (failed|error|required)|bad auth|authenticationfailed",
            r"(invalid|incorrect|wrong|bad|expired|missing|revoked|unknown|unrecognized|malformed|no|empty|stale|inactive|disabled|provide|set) (or (invalid|expired|missing|incorrect) )?(your |the |a |an |\w+ )?(\w+ )?(x-api-key|api[- _]?keys?|api[- _]?token|access[- ]?key|(access |refresh |auth\w* |bearer |security |id |client |session |personal access |csrf )?tokens?\b( was|$|\.|,|;| |:)|credentials?|password|passphrase|username|user name|pass ?code|secret|signature|session( id)?|cookie|jwt|pat\b|authorization|client secret|login|certificate credentials)",
            r"(api[- _]?key|access[- ]?key|token|credentials?|password|session|cookie|secret|jwt|signature|sso|login|pat)s?( \w+| \x01){0,6} (is |are |was |were |has |have |been |be |has been |could not be |cannot be |did |does |must be |failed |not |or )*(is |are |been |be )?(invalid|expired|missing|revoked|required|incorrect|wrong|rejected|disabled|not (provided|valid|found|set|supplied|configured|verified|accepted|recogni[sz]ed|supported|match)|verified|verification|failed|set either|malformed|unauthorized|does not match|do not match|not match|supplied|were not)",
            r"(no|unable to locate|could not (find|load)|unable to (find|load)|cannot find|can't find|missing|without) [^.]{0,30}(credentials?|api[- ]?keys?|password|access token|auth token|client token)|credentials (were|are) (not|missing|invalid)|(password|username|user)[^.]{0,30}not accepted|not have an active account|active account|pg_hba|no password|password (authentication )?(failed|required|incorrect|mismatch)|noauth|wrongpass|auth command|two.factor|2fa|mfa (required|token)|access denied for user \x01@\x01 \(using|using password|signature (verification|does not|mismatch|expired|has expired|we calculated|is invalid)|jwt|invalid_grant|invalid_client|verify (your|the) (identity|credentials)|terminal prompts|could not read (username|password)|not enough segments|login for user|login failed|does not exist in our records|failed to retrieve a token|account inactive|(client|user|account) must be authenticated|rejected the (client )?credentials|sign[- ]?up",
            r"^(error: |http )?unauthorized( error)?[.!:]?( |$)|: unauthorized[.!]?( for |$)|^unauthori[sz]ed\b|\(unauthorized\)|unauthorized: auth|= unauthorized",
        ],
    ),
    // You may not.
    (
        NotAllowed,
        &[
            r"permissions?[^.]{0,40}(denied|error|required|missing|insufficient|mismatch|not granted|lack)|(denied|insufficient|missing|lacks?|lacking|without|no|requires?|necessary|not enough|do not have|does not have|don't have|doesn't have|not have|sufficient|need|higher|needs)[^.]{0,40}\b(permissions?|privileges?|rights|authori[sz]ation to|access (rights|to)|scopes?|access|entitlement|role|roles)\b|permission to .{1,60} denied",
            r"access[^.]{0,80}(denied|forbidden|restricted|prohibited|not allowed|not granted|revoked|blocked|not permitted|not configured|is limited)|denied access|access control error|access is|requested access|denied: |command denied|was denied|is denied|\bden(y|ies)\b|may not (view|read|access|open|see|edit|use|list|change)|(cannot|can't|can not) (access|view|see|open) (this|the|that)\b|(write|read|admin|sudo|root|elevated|owner|staff)( access| role| rights)?( is)? required",
            r"(not|n't) (allow|permit)\b|(not|isn't|aren't|never|n't) (be |been )?(allowed|permitted|authori[sz]ed|entitled|granted|eligible|accessible)|unauthori[sz]ed (for|to|user|access|operation|action)|action is unauthorized|is unauthorized|unauthorized\b",
            r"forbidden|prohibited|disallowed|not permitted|operation not permitted|outside (of )?(the )?(allowed|workspace|root|sandbox|permitted|project|repository)|path (escapes|traversal)|only (the |an |a )?(\w+ )?(owners?|admins?|administrators?|members?|maintainers?|editors?|moderators?|staff|superusers?)( may| can| are|$| have)|\b(owners?|admins?|members?|administrators?) only|(must|need to|have to) (be|have) (an? |the )?(\w+ )?(admin|administrator|owner|member|maintainer|editor|superuser|root|moderator|staff|subscriber)|(requires?|needs?|need) (an? |the )?(\w+ )?(admin\w*|owner\w*|superuser|root|elevated|higher|\w+ role|role|subscription|premium|paid|approval|super)|blocked by|(by|your) (an? )?(administrator|policy|admin|organi[sz]ation)|security policy|is private|violates (row|security|policy)|does not include|upgrade (your|to)|not in (the )?channel|bot was blocked|not supported in your (country|region)|(country|region|territory),? .{0,40}not supported|payment required|suspended|banned|restricted|must have \w+ (rights|access|role|permission)",
        ],
    ),
    (
        Absent,
        &[
            r"unknown (\w+ )?(resource|page|note|document|topic|item|entity|user|project|issue|object|record|post|article|channel|board|repository|collection)( id)?( \x01| [0-9]|:|$|\.)|: no (such (note|document|page|resource|item|key|object|entity|record|user|project|issue)|\w+ with)\b|could not resolve to|missing resource|os error [23]\)?$",
        ],
    ),
    // Arguments that cannot be right.
    (
        BadArgument,
        &[
            r"\b(must|should|shall|has to|have to|needs to|ought to)\b( not| never)? (be|have|contain|match|start|begin|end|come|conform|include|specify|precede|consist|provide|use|only|satisfy|exist|equal|not)\b|(is|are) (a )?required( |\.|,|$|:|;|\))|field required|required (field|param|parameter|argument|property|value|option|key|input|request|positional)|missing (a |the |\d+ )?(required|mandatory|positional|value|param|parameter|argument|field|property|option|query)|(was|is|are|were) not (provided|supplied|given|specified)|no value (given|supplied|provided|for)|value is empty|^missing \x01|(query|name|title|value|text|argument|input|body|id|field) is empty|not allowed for \x01|^negative |only one of|format is wrong|wrong format|can't be (blank|empty|null)|cannot be (blank|empty|null|negative|zero|none|longer|less|greater|both)|please (provide|specify|give|supply|enter)|must not|may not be (blank|empty|null)",
            r"(invalid|illegal|unknown|unexpected|unrecogni[sz]ed|unsupported|bad|wrong|incorrect|malformed|badly formed|improper|ill-formed) [^.:;]{0,30}?(argument|param|parameter|params|value|input|option|format|type|date|time|number|integer|uuid|url|uri|query|syntax|cursor|field|property|key\b|keyword|expression|regular expression|regexp|regex|pattern|email|address|range|literal|character|digit|escape|page|id\b|identifier|name|enum|member|operator|port|host\b|encoding|charset|duration|zone|version|length|size|limit|offset|method|request|data|content|body|json|payload|filter|sort|order|column value|hex|base64|timestamp|boolean|float|string|byte|path|number of|scheme|element|locale|unit)",
            r"(is|was|are|were)( not| no)[^.:]{0,8} (a |an |one |of |the )?(valid|of (a )?type|of (a )?types?\(s\)|in (the )?(range|format|list|correct)|one of|allowed value|a number|an integer|a string|a multiple|within|recogni[sz]ed|supported|a boolean|an array|an object|well.formed|absolute|correctly)|not a valid|isn't a valid|not in (a |the )?(correct|valid|expected|right) format|no enum|not one of|does not match (the )?(pattern|format|schema|regex)|did not match (the )?(expected )?pattern|is invalid:|is not present$|not allowed \(\x01|additional propert|unexpected (keyword|propert|argument|option|field|key)|unrecognized key|extra (inputs|fields)",
            r"expected[^.]{0,60}(got|received|but|instead|found)|expect(s|ing|ed) (an? |the )?(integer|number|string|boolean|array|object|value|operator|positive|uuid|date|list|one of)|got (an? )?(unexpected|invalid)|instead (was|got|of)|received (an? )?(unknown|invalid|unexpected)|too (long|short|big|small|large|many (arguments|items|values|characters|parameters))|(wrong|incorrect) number of|out of (the )?(valid |allowed |permitted )?range|out-of-range|greater than|less than|larger than|smaller than|at (most|least) \d|between \d|is (above|below) (the )?(maximum|minimum)|less than the minimum|exceeds (the )?(maximum|max)|maximum (is|of|length|context)|minimum (is|of)|maximum \w+ length|length exceeded|not satisfiable",
            r"valid(ation)? (error|failed|failure)|validation (error|fail)|failed validation|(failed to|could(n't| not)( be)?|cannot( be)?|can't|unable to|error) (parse|parsed|parsing|convert|converted|converting|unmarshal|decode|coerce) (the |your |as |a |an |\x01 )?(date|time|quer|number|ur[il]|value|arg|range|string|input|int|float|bool|param|expression|regex|filter|cursor|id\b|uuid|json|duration|as )|cannot be parsed|could not be parsed|error in (the|your) |parsing \x01|could not convert|failed to convert|conversion (error|failed)|relative url|without a (base|scheme)|no scheme|missing (protocol|scheme)|url (is not|using|rejected)|bad/illegal|cannot be parsed|bad request|bad (query|syntax)|invalid syntax|unprocessable|the given data was invalid|is malformed|malformed|syntax error|violates|constraint failed|duplicate (entry|key)|already exists|too long for|no viable|incorrect padding|not a number|digits argument|\binvalid\b",
            r"does not exist for the (field|param|option)|unknown (option|flag|argument|param|field|key|property|query)|cannot query field|missing the key|(not|isn't|is not) (an? )?(integer|number|string|boolean|float|array|object|hex|uuid|list|date)\b|not an? (integer|number|valid)|wrong kind|wrongtype|value is not|out of range|argument|invalid type|(is|was|were) not \x01 or|no protocol",
        ],
    ),
    // Nothing is there.
    (
        OwnFault,
        &[
            r"(\bhost|\bcolumn|\btable|relation|\brole|database|schema|environment variable|env var|config(uration)?( file)?|driver|extension|procedure|function|method|symbol|librar(y|ies)|package|module|command|program|interpreter|dependency|catalog|handler|plugin|attribute|migration)s?( \x01| \x02| [\w.\x22-]+){0,3} (was |is |were |are |could |does |do )?(not |n't )?(be )?(not found|found|exist|missing|defined|set|installed|n't exist)|no such (column|table|function|module|command|relation|database|schema|method)|unknown (column|database|table|function|variable)|table \x01? ?doesn't exist|(not found|does not exist|no such file)[^.]{0,60}\x02|\x02[^.]{0,60}(not found|does not exist|no such file|doesn't exist)|does not exist in the current database",
        ],
    ),
    (
        Absent,
        &[
            r"not found|(could not|couldn't|cannot|can't|unable to|failed to|did not|didn't) (be )?(find|found|locate|located|fetch resource|resolve to)|no such|(does not|doesn't|do not|don't|didn't|did not) (seem to )?exist|not exist|no longer (exists?|available|there|here)|(has been|was|were|is|have been) (deleted|removed|archived|gone|missing|unpublished|taken down)|unknown (resource|page|note|document|topic|item|entity|user|id|uri|key|project|issue|file|object|record|post|article|table)|there is no |there are no |nothing (here|there|found|at)|no (matching|results?|records?|rows?|documents?|entries|entry|items?|notes?|pages?|content|data|file|resource|match|matches|object|key|value|process|message|issue|user|project|query results|document to|value for)( \x01| [\w.\x22-]+){0,3}( found| exists?| with| for| named| matching| at| was| in|$|\.)|^(error: |http )?gone\b|no \w+ to (update|delete|read|open)|no (row|rows|result|results) (was|were|in|found|returned)|at least one result|doesn't have (a|an|any) |is missing from|is gone\b|not available anymore|\benoent\b|\b404\b|cannot find the (file|path)|(key|bucket|object|file|resource|page|note|item) (is )?missing",
        ],
    ),
    // What is left over.
    (
        OwnFault,
        &[
            r"internal (server )?(error|failure)|internal:|server (error|had an error|encountered)|unknown error|unexpected (error|condition|status|exception|failure)|something went wrong|an error (has )?occurred processing|misconfigur|not configured|(improperly|wrongly|incorrectly) configured|configuration|config file|\bnot set\b|environment variable|schema version|rebuild|exit (status|code)|non-zero|returned non-zero|exited with|crash|segfault|segmentation|core dumped|fatal error|stack trace|traceback|index corrupt|back-off restarting|restarting failed|out of sync|not initiali[sz]ed|uninitiali[sz]ed|nested|exception (occurred|was thrown)|sequence contains no|\bunhandled|on our side|our fault|could not be loaded|line \d+ column \d+|column \d+ \(char|unsupported media|content-type|mimetype|must be loaded",
        ],
    ),
    (
        Passing,
        &[
            r"try(ing)? again|try later|again (later|in|shortly)|timeout( error)?[.!]?$|\btimeout:|^timeout\b|rate limit|retry|please wait|wait (a|until|for)|ratelimited|disconnected|not connected|resets at|used up",
        ],
    ),
    (NotAllowed, &[r"\bdenied\b|private$|disabled|admin"]),
];
