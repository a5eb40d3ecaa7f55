// Records how Java's standard library words its failures. Usage: java Record.java DOORS CLOSED…
// Its arguments are NAME=ADDRESS of the doors of failing.py. Each line it writes is [label, by, said].

import java.io.*;
import java.net.*;
import java.net.http.*;
import java.nio.channels.*;
import java.nio.file.*;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;

public class Record {
    interface Work { Object run() throws Exception; }

    static int turn = 0;

    static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') out.append('\\').append(c);
            else if (c < ' ') out.append(String.format("\\u%04x", (int) c));
            else out.append(c);
        }
        return out.append('"').toString();
    }

    static void keep(String label, String library, Throwable error) {
        boolean isBare = turn++ % 3 == 0 && error.getMessage() != null;
        String said = isBare ? error.getMessage() : error.toString();
        if (!isBare && error.getCause() != null) said += "\nCaused by: " + error.getCause();
        String by = "Java " + System.getProperty("java.version") + ", " + library;
        System.out.println("[" + quoted(label) + "," + quoted(by) + "," + quoted(said) + "]");
    }

    static void expect(String label, String library, Work work) {
        try {
            work.run();
            System.err.println("no failure: " + library + " " + label);
        } catch (Throwable error) {
            keep(label, library, error);
        }
    }

    static HttpClient client = HttpClient.newBuilder().connectTimeout(Duration.ofMillis(400)).build();

    static Object get(String address) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(address)).timeout(Duration.ofMillis(400)).build();
        HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() >= 400) throw new IOException("Unexpected response code: " + answer.statusCode());
        return answer;
    }

    static Object old(String address) throws Exception {
        URLConnection connection = new URL(address).openConnection();
        connection.setConnectTimeout(400);
        connection.setReadTimeout(400);
        return connection.getInputStream().readAllBytes();
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, String> doors = new HashMap<>();
        for (String each : arguments) doors.put(each.split("=")[0], each.split("=")[1]);
        for (String door : List.of("closed", "reset", "empty", "hang")) {
            expect("passing", "java.net.http", () -> get("http://" + doors.get(door) + "/notes"));
            expect("passing", "java.net", () -> old("http://" + doors.get(door) + "/notes"));
        }
        for (Work work : List.<Work>of(() -> get("https://" + doors.get("tls")), () -> old("https://" + doors.get("tls")),
                () -> get("https://" + doors.get("html")), () -> get("http://" + doors.get("html")), () -> old("http://" + doors.get("html"))))
            expect("own-fault", "java.net.http", work);
        expect("passing", "java.net.http", () -> get("http://notes.invalid/"));
        expect("passing", "java.net", () -> old("http://notes.invalid/"));
        expect("bad-argument", "java.net", () -> old("notes/17"));
        expect("bad-argument", "java.net", () -> get("not a uri"));
        Map<Integer, String> statuses = Map.of(400, "bad-argument", 401, "who-are-you", 403, "not-allowed", 404, "absent",
                410, "absent", 429, "passing", 500, "own-fault", 502, "passing", 503, "passing");
        for (var each : statuses.entrySet()) {
            expect(each.getValue(), "java.net", () -> old("http://" + doors.get("http") + "/n/" + each.getKey() + "/notes"));
            expect(each.getValue(), "java.net.http", () -> get("http://" + doors.get("http") + "/n/" + each.getKey() + "/notes"));
        }
        expect("absent", "java.nio.file", () -> Files.readString(Path.of("/srv/notes/plan.md")));
        expect("absent", "java.io", () -> new FileInputStream("/srv/notes/plan.md"));
        expect("absent", "java.nio.file", () -> Files.list(Path.of("/srv/notes")));
        expect("own-fault", "java.nio.file", () -> Files.writeString(Path.of("/dev/full"), "x".repeat(10000)));
        expect("own-fault", "java.lang", () -> new ProcessBuilder("no-such-program").start());
        keep("not-allowed", "java.nio.file", new AccessDeniedException("/srv/notes/secret.md"));
        keep("not-allowed", "java.io", new FileNotFoundException("/srv/notes/secret.md (Permission denied)"));
        keep("not-allowed", "java.lang", new SecurityException("Access to /srv/notes is not allowed"));
        for (Work work : List.<Work>of(() -> Integer.parseInt("abc"), () -> LocalDate.parse("soon"), () -> UUID.fromString("x"),
                () -> Enum.valueOf(Thread.State.class, "FAST"), () -> Duration.parse("soon"), () -> new URI("http://a b"),
                () -> java.util.regex.Pattern.compile("["), () -> Base64.getDecoder().decode("a*b"), () -> ZoneId.of("Mars/One"),
                () -> java.nio.charset.Charset.forName("utf-99"), () -> new ArrayList<>(-1)))
            expect("bad-argument", "java.util", work);
        for (Work work : List.<Work>of(() -> ((String) null).length(), () -> new int[0][0], () -> List.of().get(0),
                () -> (Integer) (Object) "x", () -> 1 / (turn - turn), () -> Class.forName("com.example.Nothere"),
                () -> List.of(1).add(2), () -> new ArrayDeque<>().pop(), () -> Optional.empty().get(),
                () -> { throw new OutOfMemoryError("Java heap space"); }, () -> { throw new StackOverflowError(); },
                () -> String.class.getMethod("nothere"), () -> { throw new IllegalStateException("Not initialized"); }))
            expect("own-fault", "java.lang", work);
        ExecutorService one = Executors.newSingleThreadExecutor();
        Future<?> slow = one.submit(() -> { Thread.sleep(3000); return 1; });
        expect("passing", "java.util.concurrent", () -> slow.get(50, TimeUnit.MILLISECONDS));
        slow.cancel(true);
        ExecutorService full = new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, new ArrayBlockingQueue<>(1));
        expect("passing", "java.util.concurrent", () -> { for (int i = 0; i < 5; i++) full.submit(() -> { Thread.sleep(300); return 1; }); return 1; });
        expect("passing", "java.net", () -> new Socket("127.0.0.1", Integer.parseInt(doors.get("closed").split(":")[1])));
        keep("passing", "java.sql", new java.sql.SQLTransientConnectionException("HikariPool-1 - Connection is not available, request timed out after 30000ms."));
        keep("passing", "java.sql", new java.sql.SQLTimeoutException("The query has timed out."));
        keep("who-are-you", "javax.security", new javax.security.auth.login.FailedLoginException("Password incorrect"));
        System.exit(0);
    }
}
