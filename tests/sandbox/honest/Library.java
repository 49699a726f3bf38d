import java.io.RandomAccessFile;
import java.nio.channels.FileChannel;
import java.nio.file.*;
import java.util.concurrent.*;
import java.util.stream.IntStream;

public class Library {
    public static void main(String[] args) throws Exception {
        var pool = Executors.newFixedThreadPool(3);
        if (pool.submit(() -> 3).get() != 3) throw new Error();
        pool.shutdown();
        if (IntStream.range(0, 1000).parallel().sum() != 499500) throw new Error();
        var folder = Files.createTempDirectory(Path.of("."), "x");
        Files.writeString(folder.resolve("a"), "x");
        Files.copy(folder.resolve("a"), folder.resolve("b"));
        Files.move(folder.resolve("b"), folder.resolve("c"));
        try (var file = new RandomAccessFile(folder.resolve("lock").toFile(), "rw")) {
            file.getChannel().lock().release();
            file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, 100).put(0, (byte) 1);
        }
        try (var all = Files.list(folder)) { for (var path : all.toList()) Files.delete(path); }
        var child = new ProcessBuilder("echo", "hi").start();
        if (!new String(child.getInputStream().readAllBytes()).equals("hi\n") || child.waitFor() != 0) throw new Error();
        Thread.sleep(2);
        System.gc();
        System.out.println("well");
    }
}
