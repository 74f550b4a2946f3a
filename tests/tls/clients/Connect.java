import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;

public class Connect {
    public static void main(String[] arguments) {
        // one set of names for the driver of Debian and one for newer ones; each ignores the other's
        String url = "jdbc:mariadb://localhost:" + arguments[0] + "/?user=app&password=apppw&useSsl=true"
            + "&sslMode=verify-full&serverSslCert=" + arguments[1] + "&enabledSslProtocolSuites=";
        try {
            for (String version : new String[] {"TLSv1.2", "TLSv1.3"}) {
                try (Connection connection = DriverManager.getConnection(url + version);
                     ResultSet rows = connection.createStatement().executeQuery("SELECT REPEAT('z', 100000)")) {
                    rows.next();
                    System.out.println(version + " " + rows.getString(1).length());
                }
            }
        } catch (Exception error) {
            System.out.println(error);
            System.exit(1);
        }
    }
}
