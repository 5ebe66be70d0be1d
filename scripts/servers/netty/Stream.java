import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.*;
import io.netty.handler.stream.ChunkedInput;
import io.netty.handler.stream.ChunkedWriteHandler;

/**
 * A streaming answer as Netty's own examples write it: a ChunkedInput behind a ChunkedWriteHandler
 * (https://netty.io/4.1/api/io/netty/handler/stream/ChunkedWriteHandler.html), on one event loop.
 *
 * <pre>
 * mvn -q -f scripts/servers/netty dependency:copy-dependencies -DoutputDirectory="$PWD/target/servers/netty"
 * javac -cp 'target/servers/netty/*' -d target/servers/netty scripts/servers/netty/Stream.java
 * PORT=8000 java -cp 'target/servers/netty:target/servers/netty/*' Stream        GET /health, GET /export
 * </pre>
 *
 * CHUNK: bytes of a piece. BYTES: of the whole answer. YIELD=1: each piece is a task of its own.
 */
public final class Stream {
    private static final int CHUNK = Integer.parseInt(System.getenv().getOrDefault("CHUNK", "1024"));
    private static final long BYTES = Long.parseLong(System.getenv().getOrDefault("BYTES", "2147483648"));
    private static final boolean YIELD = System.getenv("YIELD") != null;
    private static final ByteBuf PIECE = Unpooled.unreleasableBuffer(Unpooled.directBuffer(CHUNK).writeZero(CHUNK));

    public static void main(String[] args) throws InterruptedException {
        NioEventLoopGroup loop = new NioEventLoopGroup(1);
        new ServerBootstrap().group(loop).channel(NioServerSocketChannel.class)
            .option(ChannelOption.SO_BACKLOG, 128)
            .childHandler(new ChannelInitializer<SocketChannel>() {
                @Override
                protected void initChannel(SocketChannel channel) {
                    channel.pipeline().addLast(new HttpServerCodec(), new ChunkedWriteHandler(), new Answers());
                }
            })
            .bind("127.0.0.1", Integer.parseInt(System.getenv("PORT"))).sync().channel().closeFuture().sync();
    }

    /** Answers /export by rows, and all else by two bytes. */
    private static final class Answers extends SimpleChannelInboundHandler<HttpObject> {
        @Override
        protected void channelRead0(ChannelHandlerContext context, HttpObject message) {
            if (!(message instanceof HttpRequest)) {
                return;
            }
            if (!((HttpRequest) message).uri().startsWith("/export")) {
                FullHttpResponse answer = new DefaultFullHttpResponse(
                    HttpVersion.HTTP_1_1, HttpResponseStatus.OK, Unpooled.copiedBuffer("ok".getBytes()));
                HttpUtil.setContentLength(answer, 2);
                context.writeAndFlush(answer);
                return;
            }
            HttpResponse head = new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK);
            HttpUtil.setContentLength(head, BYTES);
            context.write(head);
            if (YIELD) {
                oneByOne(context, BYTES);
            } else {
                context.writeAndFlush(new HttpChunkedInput(new Rows()));
            }
        }

        /** The next piece when this one is with the kernel, and after whatever else the loop has to do. */
        private void oneByOne(ChannelHandlerContext context, long left) {
            if (left <= 0) {
                context.writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT);
            }
            if (left <= 0 || !context.channel().isActive()) {
                return;
            }
            context.writeAndFlush(new DefaultHttpContent(PIECE.duplicate())).addListener(
                done -> context.executor().execute(() -> oneByOne(context, left - CHUNK)));
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.close();
        }
    }

    /** The answer's pieces, each there at once. */
    private static final class Rows implements ChunkedInput<ByteBuf> {
        private long sent;

        @Override
        public boolean isEndOfInput() {
            return sent >= BYTES;
        }

        @Override
        public void close() {}

        @Override
        public ByteBuf readChunk(ChannelHandlerContext context) {
            return readChunk(context.alloc());
        }

        @Override
        public ByteBuf readChunk(ByteBufAllocator allocator) {
            sent += CHUNK;
            return PIECE.duplicate();
        }

        @Override
        public long length() {
            return BYTES;
        }

        @Override
        public long progress() {
            return sent;
        }
    }
}
