<%@ page session="false" contentType="text/plain" import="java.io.*" %><%!
  static final long LENGTH_MS = 800;
  static final int BLOCK = 64 << 10;
  static long sink;

  /** Keeps a thread busy. */
  static void compute() {
    long until = System.nanoTime() + LENGTH_MS * 1_000_000;
    while (System.nanoTime() < until) {
      for (int i = 0; i < 1_000_000; i++) sink += i;
    }
  }

  /** Puts 20 MiB on the disk, each block before the next. */
  static void write() throws IOException {
    File file = File.createTempFile("threads-", null);
    try (FileOutputStream out = new FileOutputStream(file)) {
      byte[] block = new byte[BLOCK];
      for (int at = 0; at < 20 << 20; at += BLOCK) {
        out.write(block);
        out.getChannel().force(false);
      }
    } finally {
      file.delete();
    }
  }
%><%
  String what = System.getenv("WHAT");
  // A lock that health.jsp can name too.
  Object lock = org.apache.catalina.Server.class;
  if ("lock".equals(what)) {
    synchronized (lock) { Thread.sleep(LENGTH_MS); }
  } else if ("compute".equals(what)) {
    compute();
  } else if ("write".equals(what)) {
    synchronized (lock) { write(); }
  } else if ("pool".equals(what)) {
    // The pool is Tomcat's own threads: THREADS=5.
    Thread.sleep(LENGTH_MS);
  } else {
    byte[] block = new byte[32 << 10];
    OutputStream body = response.getOutputStream();
    for (long sent = 0; sent < 2L << 30; sent += block.length) body.write(block);
    return;
  }
%>done
