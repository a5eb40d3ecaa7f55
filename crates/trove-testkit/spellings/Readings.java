// The readings of a server in Java: java.net.URI and URL, and what is done with a path.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.IDN;
import java.net.URI;
import java.net.URL;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.text.Normalizer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

public final class Readings {
    private static final int MAX_DECODINGS = 4;

    interface Work {
        String run() throws Exception;
    }

    static String attempt(Work work) {
        try {
            return work.run();
        } catch (Exception error) {
            return null;
        }
    }

    static String decoded(String text) {
        String kept = text.replace("+", "%2B");
        String out = attempt(() -> URLDecoder.decode(kept, StandardCharsets.UTF_8));
        return out == null ? text : out;
    }

    static String fold(String text) {
        String wide = Normalizer.normalize(text, Normalizer.Form.NFKC);
        String folded = wide.toUpperCase(Locale.ROOT).toLowerCase(Locale.ROOT);
        return Normalizer.normalize(folded, Normalizer.Form.NFKC);
    }

    static String clean(String text) {
        String path = "/" + text.replace('\\', '/').replaceAll(";[^/]*", "");
        String out = attempt(() -> Path.of(path.replace('\0', '.')).normalize().toString());
        if (out == null) {
            out = path;
        }
        return out.replaceAll("[. \\x00]+(?=/|$)", "").replaceAll("/+", "/").replaceAll("(.)/$", "$1");
    }

    static void addPlace(List<String> keys, String kind, String scheme, String host, String path, String query) {
        if (scheme == null) {
            return;
        }
        String text = path == null ? "" : path;
        String machine = host == null ? "" : host;
        String place = scheme.toLowerCase(Locale.ROOT) + "|" + machine + "|";
        if (query != null) {
            for (String pair : query.split("[&;]")) {
                keys.add(kind + ":query:" + place + text + "|" + decoded(pair));
                keys.add(kind + ":query:" + place + text + "|" + fold(decoded(pair)));
            }
            // Of a name with a query the path alone says nothing.
            if (scheme.equalsIgnoreCase("api")) {
                return;
            }
        }
        keys.add(kind + ":path:" + place + text);
        for (int n = 0; n < MAX_DECODINGS; n++) {
            text = decoded(text);
            keys.add(kind + ":path:" + place + text);
        }
        keys.add(kind + ":plus:" + place + text.replace('+', ' '));
        keys.add(kind + ":clean:" + place + clean(text));
        keys.add(kind + ":fold:" + fold(place) + fold(clean(text)));
        String letters = attempt(() -> IDN.toUnicode(decoded(machine), IDN.ALLOW_UNASSIGNED));
        String whole = clean((letters == null ? machine : letters) + "/" + text);
        keys.add(kind + ":whole:" + scheme.toLowerCase(Locale.ROOT) + "|" + fold(whole).replaceAll("^/+|/+$", ""));
    }

    static List<String> keysOf(String uri) {
        List<String> keys = new ArrayList<>();
        Set<String> before = new LinkedHashSet<>(List.of(uri));
        before.add(uri.trim());
        before.add(decoded(uri));
        before.add(uri.replace('\\', '/'));
        before.add(uri.replace(" ", "%20"));
        for (String text : before) {
            try {
                URI parsed = new URI(text);
                for (URI one : List.of(parsed, parsed.normalize())) {
                    String path = one.isOpaque() ? one.getSchemeSpecificPart() : one.getPath();
                    // Without a host that it understands it cannot tell one from another.
                    if (one.getHost() == null && one.getAuthority() != null) {
                        addPlace(keys, "authority", one.getScheme(), one.getAuthority(), path, one.getRawQuery());
                        continue;
                    }
                    addPlace(keys, "uri", one.getScheme(), one.getHost(), path, one.getRawQuery());
                    if (one.isOpaque()) {
                        continue;
                    }
                    addPlace(keys, "authority", one.getScheme(), one.getAuthority(), one.getRawPath(), one.getRawQuery());
                }
                String file = attempt(() -> Path.of(parsed).toString());
                if (file != null) {
                    keys.add("uri:file:" + file);
                }
            } catch (Exception error) {
                // It is no URI to this parser.
            }
            try {
                URL url = new URL(text);
                addPlace(keys, "url", url.getProtocol(), url.getHost(), url.getPath(), url.getQuery());
            } catch (Exception error) {
                // It is no URL to this parser.
            }
        }
        return keys;
    }

    /** Reads a JSON string, which is all that a line holds. */
    static String string(String line) {
        StringBuilder out = new StringBuilder();
        for (int n = 1; n < line.length() - 1; n++) {
            char c = line.charAt(n);
            if (c != '\\') {
                out.append(c);
                continue;
            }
            char kind = line.charAt(++n);
            switch (kind) {
                case 'n' -> out.append('\n');
                case 't' -> out.append('\t');
                case 'r' -> out.append('\r');
                case 'b' -> out.append('\b');
                case 'f' -> out.append('\f');
                case 'u' -> {
                    out.append((char) Integer.parseInt(line.substring(n + 1, n + 5), 16));
                    n += 4;
                }
                default -> out.append(kind);
            }
        }
        return out.toString();
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        Map<String, String> known = new HashMap<>();
        String first = lines.readLine();
        for (String name : first.substring(1, first.length() - 1).split(",")) {
            String text = string(name);
            keysOf(text).forEach(key -> known.put(key, text));
        }
        int place = 0;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Set<String> names = new HashSet<>();
            for (String key : keysOf(string(line))) {
                String name = known.get(key);
                if (name != null && names.add(name)) {
                    out.print(place + "\t" + name + "\t" + key.replaceAll("\\p{Cntrl}", "?") + "\n");
                }
            }
            place++;
        }
        out.flush();
    }
}
