import { type Dialogues, script, twoDigits } from './script.ts';

export const es: Dialogues = {
  language: 'es',
  gap: ' ',
  greetings: ['Hola,', 'Buenos días,', 'Buenas tardes,', 'Hola, ¿qué tal?'],
  thanks: ['¡Genial, muchas gracias!', 'Perfecto, gracias por la ayuda.', 'Gracias, me quedo más tranquilo.'],
  goodbyes: [
    '¡Un placer! Que disfrutes de la ruta.',
    'De nada, {name}. Aquí estamos para lo que necesites.',
    'A ti por escribirnos. ¡Buen viaje!',
  ],
  cities: ['Zaragoza', 'Bilbao', 'Granada', 'Oviedo', 'Miami', 'Mérida'],
  form: ['Nombre', 'Correo', '¿En qué podemos ayudarte?'],
  date: (day, month) => `${twoDigits(day)}/${twoDigits(month)}`,
  amount: (whole, cents, currency) => `${whole},${cents} ${currency === 'USD' ? 'USD' : '€'}`,
  scripts: [
    script(
      'Delivery',
      '¿Dónde está el pedido {order}?',
      `v: el pedido {order} tenía que llegar el {date} y el seguimiento no se mueve.
      b: Siento la espera. El último registro es de {city}. ¿Quieres que avise a una persona del equipo?
      v: Sí, por favor. Salimos el sábado y necesito la mochila {pack}.
      a: Hola {name}, soy {agent}. He abierto una reclamación con la mensajería, número {ticket}.
      v: ¿Y si no aparece a tiempo?
      a: Te mando otra por envío urgente el jueves, sin ningún coste.`,
    ),
    script(
      'Refund',
      'Devolución sin reembolsar',
      `v: devolví la chaqueta {jacket} hace dos semanas y todavía no veo los {amount}.
      b: El reembolso tarda hasta cinco días laborables desde que llega el paquete. ¿Me das el número de pedido?
      v: Es el {order}, lo recibisteis el {date}.
      a: Gracias, {name}. El paquete está revisado, pero nadie aprobó el abono. Ha sido un error nuestro.
      a: Acabo de aprobar {amount}. Tu banco lo mostrará en unos tres días.
      v: ¿Me enviáis un justificante?
      a: Sí, el abono ya va camino de tu correo.`,
    ),
    script(
      'Sizing',
      'Talla de las {shoe}',
      `v: en zapato de calle llevo un {size}. ¿Qué talla de {shoe} me recomendáis?
      b: La mayoría elige media talla más para usarla con calcetín grueso. ¿Te mando la guía?
      v: Ya la he visto, lo que me preocupa es el ancho.
      a: Hola {name}, la horma es algo estrecha. Yo iría a una talla entera más.
      v: ¿Puedo cambiarlas si no me van bien?
      a: Claro, tienes 60 días mientras solo las uses dentro de casa.`,
    ),
    script(
      'Warranty',
      'Varilla rota de la tienda',
      `v: se partió una varilla de mi tienda {tent} la segunda noche.
      b: Nuestras tiendas tienen cinco años de garantía. ¿Puedes adjuntar una foto y el número de pedido?
      v: Pedido {order}, adjunto la foto.
      a: Gracias, {name}. Es un fallo del material. ¿Prefieres una pieza suelta o el juego completo?
      v: El juego completo, si puede ser.
      a: Hecho, sale el {date}. Quédate con las viejas de repuesto.`,
    ),
    script(
      'Payment',
      'Cobro duplicado',
      `v: en mi extracto aparecen dos cargos de {amount} por el pedido {order}.
      b: A veces el segundo es una retención que desaparece sola. ¿Qué día hiciste la compra?
      v: El {date}, y los dos figuran como cobrados.
      a: Lo he revisado con pagos, {name}. El primer intento falló y se cobró igualmente. Ya está anulado con la referencia {ticket}.
      v: ¿Cuánto tarda?
      a: Entre dos y cuatro días laborables, según el banco.`,
    ),
    script(
      'Login',
      'No puedo entrar en mi cuenta',
      `v: la web dice que mi contraseña no vale y el correo para cambiarla no llega.
      b: ¿Puedes mirar en la carpeta de correo no deseado? El remitente es noreply@larkspur.example.
      v: Tampoco está ahí, lo he pedido tres veces.
      a: Hola {name}, tu cuenta sigue con una dirección antigua y los mensajes van allí.
      v: ¡Claro! Ese buzón ya no existe.
      a: Te he enviado un enlace de confirmación. Al pulsarlo, la cuenta pasa a la dirección nueva.`,
    ),
    script(
      'Stock',
      '¿Cuándo vuelve {product}?',
      `v: llevo un mes esperando {product}. ¿Sabéis cuándo vuelve a haber?
      b: La próxima entrega está prevista para la semana del {date}. ¿Te aviso cuando llegue?
      v: Sí, ¿y se puede reservar?
      a: Te he apuntado uno, {name}. Lo guardamos 72 horas desde que llegue.`,
    ),
  ],
};
