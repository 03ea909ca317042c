import java.nio.file.*;
import org.neo4j.dbms.api.*;

/** java -cp "LIB/*" Neo4jServer.java HOME neo4j.conf: a real Neo4j Community server that lives as long as its standard input. */
public class Neo4jServer {
  public static void main(String[] arguments) throws Exception {
    DatabaseManagementService server =
        new DatabaseManagementServiceBuilder(Path.of(arguments[0])).loadPropertiesFromFile(Path.of(arguments[1])).build();
    Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
    System.out.println("READY");
    System.out.flush();
    while (System.in.read() >= 0) {}
    System.exit(0);
  }
}
