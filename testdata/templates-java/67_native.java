import java.util.*;
public class Main {
    public static void main(String[] args) throws Throwable {
        try { System.loadLibrary("nothing"); } catch (UnsatisfiedLinkError e) { System.out.println(e.getMessage().substring(0, 30)); }
        try { System.load("/lib/x86_64-linux-gnu/libm.so.6"); System.out.println("loaded"); } catch (UnsatisfiedLinkError e) { System.out.println(e.getMessage()); }
        var linker = java.lang.foreign.Linker.nativeLinker();
        var h = linker.downcallHandle(linker.defaultLookup().find("getppid").get(), java.lang.foreign.FunctionDescriptor.of(java.lang.foreign.ValueLayout.JAVA_INT));
        System.out.println((int) h.invoke());
    }
}
