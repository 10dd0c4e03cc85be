import java.util.*;
public class Main {
    public static void main(String[] args) throws Exception {
        System.out.println(HexFormat.of().formatHex(java.security.MessageDigest.getInstance("SHA-256").digest("a".getBytes())) + " " + java.security.Security.getProviders().length + " " + new java.security.SecureRandom().getAlgorithm() + " " + UUID.nameUUIDFromBytes(new byte[3]) + " " + UUID.randomUUID().version());
        var k = java.security.KeyPairGenerator.getInstance("EC").generateKeyPair();
        var s = java.security.Signature.getInstance("SHA256withECDSA");
        s.initSign(k.getPrivate());
        s.update((byte) 1);
        byte[] sig = s.sign();
        s.initVerify(k.getPublic());
        s.update((byte) 1);
        System.out.println(s.verify(sig));
    }
}
