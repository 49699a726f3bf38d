import java.io.FileOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.Assert;
import org.junit.Test;
import org.junit.runner.Description;
import org.junit.runner.JUnitCore;
import org.junit.runner.Request;
import org.junit.runner.Runner;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

/**
 * Runs the classes of JUnit 4 that its arguments name, and writes the result of each test to a
 * separate file. The file is opened, and the digest made, before any code of the workspace is
 * loaded. Each line begins with a digest over a key, its number and its text.
 */
public class EvalJunit {
  private static final String KEY = "@KEY@";

  public static class Canary {
    @Test
    public void test_@PASSING@() {
      Assert.assertEquals(42, 6 * 7);
    }

    @Test
    public void test_@FAILING@() {
      Assert.assertEquals(41, 6 * 7);
    }
  }

  private static class Reporting extends RunListener {
    private final FileOutputStream file;
    private final MessageDigest digest;
    private final Map<String, String[]> open = new HashMap<>();
    private int count = 0;
    private int failed = 0;

    Reporting(Path results) throws Exception {
      Files.newOutputStream(results, StandardOpenOption.CREATE_NEW).close();
      file = new FileOutputStream(results.toFile(), true);
      digest = MessageDigest.getInstance("SHA-256");
    }

    synchronized void report(String kind, String... facts) throws Exception {
      StringBuilder text = new StringBuilder("{\"kind\":" + quoted(kind));
      for (int i = 0; i + 1 < facts.length; i += 2) {
        text.append("," + quoted(facts[i]) + ":" + quoted(facts[i + 1]));
      }
      text.append("}");
      byte[] own = digest.digest((KEY + count + text + KEY).getBytes(StandardCharsets.UTF_8));
      StringBuilder line = new StringBuilder();
      for (byte one : own) {
        line.append(String.format("%02x", one));
      }
      count += 1;
      file.write((line + " " + text + "\n").getBytes(StandardCharsets.UTF_8));
    }

    synchronized void broken(String id, Throwable why) throws Exception {
      failed += 1;
      report("broken", "id", id, "message", message(why));
    }

    private synchronized void note(Description test, String status, String message) throws Exception {
      String[] noted = open.get(test.getDisplayName());
      if (noted == null) {
        report("broken", "id", id(test), "message", message);
      } else if (!noted[0].equals("failed")) {
        open.put(test.getDisplayName(), new String[] {status, message});
      }
      failed += status.equals("failed") && !id(test).endsWith("@FAILING@") ? 1 : 0;
    }

    @Override
    public synchronized void testStarted(Description test) {
      open.put(test.getDisplayName(), new String[] {"passed", ""});
    }

    @Override
    public void testFailure(Failure failure) throws Exception {
      note(failure.getDescription(), "failed", message(failure.getException()));
      if (!id(failure.getDescription()).endsWith("@FAILING@")) {
        System.err.println(failure.getTestHeader() + ": " + failure.getTrace());
      }
    }

    @Override
    public void testAssumptionFailure(Failure failure) {
      try {
        note(failure.getDescription(), "skipped", message(failure.getException()));
      } catch (Exception error) {
        throw new IllegalStateException(error);
      }
    }

    @Override
    public void testIgnored(Description test) throws Exception {
      report("test", "id", id(test), "status", "skipped", "message", "");
    }

    @Override
    public synchronized void testFinished(Description test) throws Exception {
      String[] noted = open.remove(test.getDisplayName());
      if (noted != null) {
        report("test", "id", id(test), "status", noted[0], "message", noted[1]);
      }
    }
  }

  private static String id(Description test) {
    String name = test.getMethodName();
    return name == null ? test.getDisplayName() : test.getClassName() + "." + name;
  }

  private static String message(Throwable why) {
    String text = why.getMessage() == null ? why.getClass().getName() : why.getMessage();
    String first = text.strip().lines().findFirst().orElse("");
    return first.substring(0, Math.min(500, first.length()));
  }

  private static String quoted(String text) {
    StringBuilder out = new StringBuilder("\"");
    for (char one : text.toCharArray()) {
      boolean plain = one >= ' ' && one <= '~' && one != '"' && one != '\\';
      out.append(plain ? String.valueOf(one) : String.format("\\u%04x", (int) one));
    }
    return out.append('"').toString();
  }

  private static List<Description> leaves(Description test) {
    if (test.isTest()) {
      return List.of(test);
    }
    List<Description> found = new ArrayList<>();
    for (Description child : test.getChildren()) {
      found.addAll(leaves(child));
    }
    return found;
  }

  /** A class of the framework that the class path has twice: one may be of the workspace. */
  private static String shadowed() throws Exception {
    for (String entry : System.getProperty("java.class.path").split(":")) {
      Path root = Path.of(entry);
      for (String part : List.of("org/junit", "org/hamcrest", "junit")) {
        if (!Files.isDirectory(root.resolve(part))) {
          continue;
        }
        for (Path path : Files.walk(root.resolve(part)).toList()) {
          String name = root.relativize(path).toString();
          List<?> copies = Collections.list(ClassLoader.getSystemResources(name));
          if (name.endsWith(".class") && copies.size() > 1) {
            return name;
          }
        }
      }
    }
    return null;
  }

  public static void main(String[] names) throws Exception {
    Reporting reporting = new Reporting(Path.of(System.getenv("EVAL_RESULTS_DIR"), "@FILE@"));
    JUnitCore core = new JUnitCore();
    reporting.report("begin", "framework", "JUnit " + core.getVersion());
    String shadowed = shadowed();
    if (shadowed != null) {
      reporting.broken(shadowed, new IllegalStateException("the class path has several copies of it"));
    }
    List<Runner> runners = new ArrayList<>();
    for (String name : names) {
      try {
        runners.add(Request.aClass(Class.forName(name, false, ClassLoader.getSystemClassLoader())).getRunner());
      } catch (Throwable error) {
        reporting.broken(name, error);
      }
    }
    for (Runner runner : runners) {
      for (Description test : leaves(runner.getDescription())) {
        reporting.report("collected", "id", id(test));
      }
    }
    core.addListener(reporting);
    runners.add(Request.aClass(Canary.class).getRunner());
    for (Runner runner : runners) {
      core.run(runner);
    }
    int code = reporting.failed > 0 ? 1 : 0;
    reporting.report("end");
    System.out.flush();
    Runtime.getRuntime().halt(code);
  }
}
