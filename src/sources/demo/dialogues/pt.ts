import { type Dialogues, script, twoDigits } from './script.ts';

export const pt: Dialogues = {
  language: 'pt',
  gap: ' ',
  greetings: ['Olá,', 'Bom dia,', 'Boa tarde,', 'Olá a todos,'],
  thanks: ['Excelente, muito obrigado!', 'Obrigada pela ajuda.', 'Perfeito, fico descansado.'],
  goodbyes: [
    'Sempre às ordens. Boa viagem!',
    'De nada, {name}. Até à próxima aventura.',
    'Nós é que agradecemos. Bom dia!',
  ],
  cities: ['Braga', 'Coimbra', 'Évora', 'Curitiba', 'Setúbal'],
  form: ['Nome', 'E-mail', 'Como podemos ajudar?'],
  date: (day, month) => `${twoDigits(day)}/${twoDigits(month)}`,
  amount: (whole, cents, currency) => `${whole},${cents} ${currency === 'USD' ? 'USD' : '€'}`,
  scripts: [
    script(
      'Delivery',
      'Encomenda {order} atrasada',
      `v: a encomenda {order} devia ter chegado a {date} e o seguimento está parado.
      b: Lamento a demora. O último registo é de {city}. Quer que avise um colega?
      v: Sim, por favor. Partimos no sábado e preciso da mochila {pack}.
      a: Olá {name}, fala {agent}. Abri um pedido de averiguação na transportadora com o número {ticket}.
      v: E se não aparecer a tempo?
      a: Na quinta-feira envio outra por correio expresso, sem custos para si.`,
    ),
    script(
      'Refund',
      'Reembolso em falta',
      `v: devolvi o casaco {jacket} há duas semanas e ainda não recebi os {amount}.
      b: O reembolso demora até cinco dias úteis depois da chegada. Qual é o número da encomenda?
      v: {order}, recebida a {date}.
      a: Obrigado, {name}. A devolução foi verificada, mas faltava autorizar o pagamento. Foi falha nossa.
      a: Acabei de autorizar {amount}. O banco mostra o valor em cerca de três dias.`,
    ),
    script(
      'Sizing',
      'Tamanho das {shoe}',
      `v: calço {size}. Que número devo escolher nas {shoe}?
      b: A maioria dos clientes escolhe meio número acima. Quer ver a tabela de medidas?
      v: Já vi, mas tenho o pé largo.
      a: Olá {name}, nesse caso escolha um número inteiro acima e deixe os atacadores mais soltos.
      v: Posso trocar se não servirem?
      a: Claro, tem 60 dias, desde que só as use dentro de casa.`,
    ),
    script(
      'Warranty',
      'Vareta partida da tenda {tent}',
      `v: uma vareta da tenda {tent} partiu-se na segunda noite.
      b: As nossas tendas têm cinco anos de garantia. Pode juntar uma fotografia e o número da encomenda?
      v: Encomenda {order}, segue a fotografia.
      a: Obrigada, {name}. É um defeito do material. Prefere uma secção ou o conjunto completo?
      v: O conjunto completo, se for possível.
      a: Combinado, segue a {date}. Fique com as antigas de reserva.`,
    ),
    script(
      'Exchange',
      'Trocar {jacket} por outro tamanho',
      `v: o casaco {jacket} da encomenda {order} ficou largo. Posso trocar por um tamanho abaixo?
      b: Sim, a troca é gratuita durante 60 dias. Mantém a mesma cor?
      v: Sim, verde musgo.
      b: Há verde musgo no tamanho abaixo. Reservei um e enviei a etiqueta de devolução.
      v: Tenho de esperar que a devolução chegue?
      a: Não, {name}. O novo sai hoje e tem 14 dias para devolver o outro.`,
    ),
    script(
      'Login',
      'Não consigo iniciar sessão',
      `v: o site diz que a palavra-passe está errada e o e-mail de recuperação não chega.
      b: Pode ver na pasta de spam? O remetente é noreply@larkspur.example.
      v: Não está lá, já tentei três vezes.
      a: Olá {name}, a conta ainda está com um endereço antigo, os e-mails vão para lá.
      v: Pois é, essa caixa já não existe.
      a: Enviei-lhe uma ligação de confirmação. Depois de a abrir, fica o endereço novo.`,
    ),
  ],
};
