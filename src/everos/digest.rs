//! SHA-256, for the few short digests the memory plugin needs: an id that lost
//! characters, the place a transcript was read to, an item already shown.

const ROUND: [u32; 64] = [
    0x428a_2f98,
    0x7137_4491,
    0xb5c0_fbcf,
    0xe9b5_dba5,
    0x3956_c25b,
    0x59f1_11f1,
    0x923f_82a4,
    0xab1c_5ed5,
    0xd807_aa98,
    0x1283_5b01,
    0x2431_85be,
    0x550c_7dc3,
    0x72be_5d74,
    0x80de_b1fe,
    0x9bdc_06a7,
    0xc19b_f174,
    0xe49b_69c1,
    0xefbe_4786,
    0x0fc1_9dc6,
    0x240c_a1cc,
    0x2de9_2c6f,
    0x4a74_84aa,
    0x5cb0_a9dc,
    0x76f9_88da,
    0x983e_5152,
    0xa831_c66d,
    0xb003_27c8,
    0xbf59_7fc7,
    0xc6e0_0bf3,
    0xd5a7_9147,
    0x06ca_6351,
    0x1429_2967,
    0x27b7_0a85,
    0x2e1b_2138,
    0x4d2c_6dfc,
    0x5338_0d13,
    0x650a_7354,
    0x766a_0abb,
    0x81c2_c92e,
    0x9272_2c85,
    0xa2bf_e8a1,
    0xa81a_664b,
    0xc24b_8b70,
    0xc76c_51a3,
    0xd192_e819,
    0xd699_0624,
    0xf40e_3585,
    0x106a_a070,
    0x19a4_c116,
    0x1e37_6c08,
    0x2748_774c,
    0x34b0_bcb5,
    0x391c_0cb3,
    0x4ed8_aa4a,
    0x5b9c_ca4f,
    0x682e_6ff3,
    0x748f_82ee,
    0x78a5_636f,
    0x84c8_7814,
    0x8cc7_0208,
    0x90be_fffa,
    0xa450_6ceb,
    0xbef9_a3f7,
    0xc671_78f2,
];

const START: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// The SHA-256 of `data` in lower-case hexadecimal, its first `length` digits
/// (at most 64).
pub fn hex(data: &[u8], length: usize) -> String {
    let mut state = START;
    let mut padded = data.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if padded.len() - data.len() < 9 {
        padded.resize(padded.len() + 64, 0);
    }
    let bits = (data.len() as u64).wrapping_mul(8).to_be_bytes();
    let end = padded.len() - 8;
    if let Some(slot) = padded.get_mut(end..) {
        slot.copy_from_slice(&bits);
    }
    for block in padded.chunks_exact(64) {
        compress(&mut state, block);
    }
    let mut digits: String = state.iter().map(|word| format!("{word:08x}")).collect();
    digits.truncate(length);
    digits
}

/// One round; every index is below the length of its constant-sized array.
fn compress(state: &mut [u32; 8], block: &[u8]) {
    let mut words = [0_u32; 64];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes
            .iter()
            .fold(0, |value, byte| value << 8 | u32::from(*byte));
    }
    for i in 16..64 {
        let (a, b) = (words[i - 15], words[i - 2]);
        let low = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
        let high = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
        words[i] = words[i - 16]
            .wrapping_add(low)
            .wrapping_add(words[i - 7])
            .wrapping_add(high);
    }
    let mut v = *state;
    for i in 0..64 {
        let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
        let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        let high = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
        let low = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
        let first = v[7]
            .wrapping_add(high)
            .wrapping_add(choice)
            .wrapping_add(ROUND[i])
            .wrapping_add(words[i]);
        let second = low.wrapping_add(majority);
        v = [
            first.wrapping_add(second),
            v[0],
            v[1],
            v[2],
            v[3].wrapping_add(first),
            v[4],
            v[5],
            v[6],
        ];
    }
    for (word, value) in state.iter_mut().zip(v) {
        *word = word.wrapping_add(value);
    }
}

#[cfg(test)]
mod tests {
    use super::hex;

    #[test]
    fn agrees_with_the_published_vectors() {
        assert_eq!(
            hex(b"", 64),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(
            hex(b"abc", 64),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        let two_blocks = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(
            hex(two_blocks, 64),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        );
        assert_eq!(hex(&[b'a'; 1000], 8), "41edece4");
    }
}
