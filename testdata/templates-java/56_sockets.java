import java.io.*;
import java.net.*;
public class Main {
    public static void main(String[] args) throws Exception {
        try (var server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Thread.ofPlatform().start(() -> { try (var c = server.accept()) { c.getOutputStream().write("hi".getBytes()); } catch (IOException e) { System.out.println(e); } });
            try (var c = new Socket(server.getInetAddress(), server.getLocalPort())) { System.out.println(new String(c.getInputStream().readAllBytes())); }
        } catch (IOException e) { System.out.println(e.getMessage()); }
    }
}
