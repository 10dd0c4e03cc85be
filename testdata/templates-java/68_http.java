import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        try { java.net.http.HttpClient.newHttpClient().send(java.net.http.HttpRequest.newBuilder(java.net.URI.create("http://127.0.0.1:9/")).build(), java.net.http.HttpResponse.BodyHandlers.ofString()); } catch (Exception e) { System.out.println(e.getClass()); }
    }
}
