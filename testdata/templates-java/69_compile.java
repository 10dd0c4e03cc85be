import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        var c = javax.tools.ToolProvider.getSystemJavaCompiler();
        System.out.println(c != null);
        var shell = java.util.spi.ToolProvider.findFirst("javap");
        System.out.println(shell.isPresent());
    }
}
