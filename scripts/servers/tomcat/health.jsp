<%@ page session="false" contentType="text/plain" %><%
  String what = System.getenv("WHAT");
  if ("lock".equals(what) || "write".equals(what)) {
    synchronized (org.apache.catalina.Server.class) { }
  }
%>ok
