import java.nio.file.Path;

/**
 * java -cp CLASSES:LIB/* Neo4jServer HOME neo4j.conf: a real Neo4j Community server that lives as long as its standard input.
 * Neo4j's classes are named as text, so that an older compiler than theirs will do.
 */
public class Neo4jServer {
  public static void main(String[] arguments) throws Exception {
    Class<?> builder = Class.forName("org.neo4j.dbms.api.DatabaseManagementServiceBuilder");
    Class<?> service = Class.forName("org.neo4j.dbms.api.DatabaseManagementService");
    Object built = builder.getConstructor(Path.class).newInstance(Path.of(arguments[0]));
    builder.getMethod("loadPropertiesFromFile", Path.class).invoke(built, Path.of(arguments[1]));
    Object server = builder.getMethod("build").invoke(built);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      try {
        service.getMethod("shutdown").invoke(server);
      } catch (ReflectiveOperationException error) {
        error.printStackTrace();
      }
    }));
    System.out.println("READY");
    System.out.flush();
    while (System.in.read() >= 0) {}
    System.exit(0);
  }
}
