import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Runs each tool of the image on a small input, and prints "ok NAME" if it worked. */
public class Main {
    static int add(int a, int b) { return Math.addExact(a, b); }

    static class Right {
        int two;

        @BeforeEach
        void count() { two = add(1, 1); }

        @Test
        void adds() { assertEquals(2, two); }

        @ParameterizedTest
        @CsvSource({"1, 2, 3", "4, 5, 9"})
        void addsMany(int a, int b, int sum) { assertEquals(sum, add(a, b)); }

        @Nested
        class Large {
            @Test
            void overflows() { assertThrows(ArithmeticException.class, () -> add(Integer.MAX_VALUE, 1)); }
        }
    }

    static class Wrong {
        @Test
        void addsWrongly() { assertEquals(3, add(1, 1), "one and one"); }
    }

    public static class Old {
        @org.junit.Test
        public void adds() { org.junit.Assert.assertEquals(2, add(1, 1)); }
    }

    static void tool(int exitCode, String says, String... command) throws Exception {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes());
        int code = process.waitFor();
        if (code != exitCode || !said.contains(says))
            throw new IllegalStateException(String.join(" ", command) + ": " + code + "\n" + said);
    }

    public static void main(String[] args) throws Exception {
        tool(0, "4 tests successful", "junit", "execute", "-cp", "classes", "-c", "Main$Right");
        tool(1, "one and one ==> expected: <3> but was: <2>", "junit", "execute", "-cp", "classes", "-c", "Main$Wrong");
        tool(0, "1 tests successful", "junit", "execute", "-cp", "classes", "-c", "Main$Old");
        System.out.println("ok junit");

        // Sources without a main, as the manifest compiles and runs them.
        Files.writeString(Path.of("AdderTest.java"), """
            import static org.junit.jupiter.api.Assertions.assertEquals;
            import org.junit.jupiter.api.Test;
            class AdderTest { @Test void adds() { assertEquals(2, 1 + 1); } }
            """);
        Files.move(Path.of("classes"), Path.of("others"));
        tool(0, "", "java", "-cp", "/usr/lib/brig/java", "Compile", "AdderTest.java", "AdderTest.java");
        tool(0, "1 tests successful", "java", "-cp", "classes:/usr/lib/brig/junit/*", "@classes/.main");
        System.out.println("ok junit alone");
    }
}
