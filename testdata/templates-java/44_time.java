import java.time.*;
import java.time.format.*;
import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        System.out.println(ZoneId.systemDefault() + " " + Instant.EPOCH + " " + Math.abs(Instant.now().toEpochMilli() - System.currentTimeMillis() ) / 1000 + " " + new Date(0) + " " + Locale.getDefault() + " " + java.nio.charset.Charset.defaultCharset());
        System.out.println(LocalDate.of(2024, 2, 29).plusYears(1) + " " + DateTimeFormatter.ISO_DATE.format(LocalDate.EPOCH));
    }
}
