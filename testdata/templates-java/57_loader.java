import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        System.out.println(Main.class.getClassLoader() instanceof java.net.URLClassLoader);
        System.out.println(ClassLoader.getSystemClassLoader().getName() + " " + ClassLoader.getSystemResource("nothing") + " " + ClassLoader.getPlatformClassLoader().getName() + " " + Class.forName("java.sql.Driver").getModule());
        try { Class.forName("Nothing"); } catch (ClassNotFoundException e) { System.out.println(e); }
        System.out.println(ModuleLayer.boot().modules().size() + " " + Main.class.getModule());
        ServiceLoader.load(java.nio.file.spi.FileSystemProvider.class).forEach(p -> System.out.println(p.getScheme()));
    }
}
