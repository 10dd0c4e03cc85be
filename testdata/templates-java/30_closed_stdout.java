import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        System.out.close();
        System.out.println("lost");
        System.err.println(System.out.checkError());
        new java.io.FileOutputStream(java.io.FileDescriptor.out).write(1);
    }
}
