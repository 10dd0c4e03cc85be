import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        System.out.println("a,b,,c".split(",").length + " " + "x".repeat(3) + " " + String.join("-", List.of("a", "b")) + " " + "%5.2f|%-4s|%04d".formatted(3.14159, "ab", 42) + " " + new java.math.BigDecimal("1.10").add(new java.math.BigDecimal("2.205")) + " " + java.math.BigInteger.TWO.pow(100));
        System.out.println("""
          block
            text
          """ + "ß".toUpperCase() + java.text.NumberFormat.getInstance(Locale.GERMANY).format(1234.5) + java.util.regex.Pattern.compile("(?<n>[a-z]+)").matcher("12ab").results().count());
    }
}
